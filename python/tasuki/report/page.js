// Tells the point next to the pointer (or the finger) in a line at the lower edge. Without it the points have
// their texts as tooltips.
(function () {
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("section:not(#everything) details")) folded.open = true;
  });
  const told = document.getElementById("told");
  for (const chart of document.querySelectorAll("svg.chart")) {
    const points = Array.from(chart.querySelectorAll(".point"), (point) => {
      const title = point.querySelector("title");
      point.dataset.text = title.textContent;
      title.remove();
      return point;
    });
    const show = (event) => {
      let best = null, nearest = 30 * 30;
      for (const point of points) {
        const box = point.getBoundingClientRect();
        const across = event.clientX - (box.left + box.right) / 2;
        const down = event.clientY - (box.top + box.bottom) / 2;
        const distance = across * across + down * down;
        if (distance < nearest) {
          nearest = distance;
          best = point;
        }
      }
      told.hidden = !best;
      if (best) told.textContent = best.dataset.text;
    };
    chart.addEventListener("pointermove", show);
    chart.addEventListener("pointerdown", show);
    chart.addEventListener("pointerleave", () => { told.hidden = true; });
  }
})();
