// Tells what the rank under the pointer does at that time, in a line at the lower edge.
(function () {
  const told = document.getElementById("told");
  const field = document.querySelector(".lanes");
  const data = JSON.parse(document.getElementById("spans").textContent);
  if (!field) return;
  const show = (event) => {
    const box = field.getBoundingClientRect();
    const time = (event.clientX - box.left) / box.width, row = (event.clientY - box.top) / box.height;
    const lane = Math.floor(row * data.lanes.length);
    told.hidden = time < 0 || time > 1 || lane < 0 || lane >= data.lanes.length;
    if (told.hidden) return;
    const now = time * data.seconds;
    const slack = data.seconds / box.width;
    let best = null;
    for (const span of data.spans[lane]) {
      if (span[0] - slack > now) break;
      if (span[1] + slack >= now && (!best || span[1] - span[0] < best[1] - best[0])) best = span;
    }
    told.textContent = data.lanes[lane] + ", " + (now * data.scale).toFixed(data.digits) + " " + data.unit +
      (best ? ": " + data.texts[best[2]] : "");
  };
  field.addEventListener("pointermove", show);
  field.addEventListener("pointerdown", show);
  field.addEventListener("pointerleave", () => { told.hidden = true; });
})();
