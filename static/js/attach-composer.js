// The dashboard's composer takes files along; attach.js does it.
(() => {
  "use strict";
  const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`))?.split("=")[1] ?? "";
  attach(document.getElementById("composer"), async () => ({ "X-CSRFToken": cookie("median_csrf"), "X-Median-As": document.body.dataset.as }));
})();
