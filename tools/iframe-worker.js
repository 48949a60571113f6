// The site's search runs in a worker, which browsers allow no page that is opened as a file. There this stands in its place: the
// worker's script runs in a hidden frame of the page. (By its name the theme knows that it need not fetch one from elsewhere.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      const own = new URL(url, location);
      const load = (address) =>
        new Promise((loaded, failed) => {
          const script = this.scope.document.createElement("script");
          script.src = new URL(address, own);
          script.onload = loaded;
          script.onerror = failed;
          this.scope.document.body.append(script);
        });
      this.scope.importScripts = (...urls) =>
        urls.reduce((before, next) => before.then(() => load(next)), Promise.resolve());
      this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      this.loaded = load(own);
    }
    postMessage(data) {
      this.loaded.then(() => this.scope.dispatchEvent(new MessageEvent("message", {data})));
    }
  };
}
