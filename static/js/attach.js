// Files that go with a message: chosen, dropped or pasted, sent up at once, and taken away again until it is sent.
// attach(form) makes it so; on pages with htmx the composer's form takes part by itself.
const attach = (() => {
  "use strict";
  const words = (size) => (size < 1024 ** 2 ? `${Math.max(1, Math.round(size / 1024))} KB` : `${(size / 1024 ** 2).toFixed(1)} MB`);

  function post(path, file, headers, progress) {
    const xhr = new XMLHttpRequest();
    const answer = new Promise((resolve, reject) => {
      xhr.upload.addEventListener("progress", (event) => { if (event.lengthComputable) progress(event.loaded / event.total); });
      xhr.addEventListener("load", () => {
        const body = xhr.getResponseHeader("Content-Type")?.startsWith("application/json") ? JSON.parse(xhr.responseText) : {};
        if (xhr.status === 201) return resolve(body);
        if (xhr.status === 401) document.dispatchEvent(new Event("median:refused")); // The widget asks for a newer token.
        return reject(new Error(body.error?.message ?? `“${file.name}” could not be taken. Attach it again.`));
      });
      xhr.addEventListener("error", () => reject(new Error(`“${file.name}” did not get through. Check the connection and attach it again.`)));
      xhr.addEventListener("abort", () => reject(null));
    });
    const form = new FormData();
    form.append("file", file);
    xhr.open("POST", path);
    for (const [name, value] of Object.entries({ Accept: "application/json", ...headers })) xhr.setRequestHeader(name, value);
    xhr.send(form);
    return { answer, abort: () => xhr.abort() };
  }

  return (form, headers = async () => ({})) => {
    const root = form.querySelector("[data-attach]");
    const [list, fault, status] = ["ul", "[role=alert]", "[role=status]"].map((each) => root.querySelector(each));
    const input = form.querySelector("input[type=file]"), text = form.querySelector("textarea");
    const most = Number(root.dataset.most), limit = Number(root.dataset.limit), isRequired = text.required;
    // A reply's files are not a note's, as their texts are not.
    const mode = () => form.dataset.mode ?? "", all = () => [...list.children];
    const rows = () => all().filter((row) => row.dataset.mode === mode());
    const ids = () => rows().map((row) => row.dataset.file).filter(Boolean);
    const isBusy = () => rows().some((row) => !row.dataset.file);
    let isWaiting = false; // to be sent as soon as everything is up

    function say(message) {
      fault.querySelector("span").textContent = message;
      fault.hidden = !message;
    }

    function changed() {
      text.required = isRequired && rows().length === 0;
      for (const row of all()) {
        const input = row.querySelector("input");
        row.hidden = row.dataset.mode !== mode();
        if (input) input.disabled = row.hidden;
      }
      const { keep } = root.dataset, up = all().filter((row) => row.sent);
      if (keep) sessionStorage.setItem(keep, JSON.stringify(up.map((row) => [row.dataset.mode, row.sent])));
      if (isWaiting && !isBusy()) { isWaiting = false; form.requestSubmit(); }
    }

    function draw(name, size, of = mode()) {
      const row = root.querySelector("template").content.cloneNode(true).firstElementChild;
      row.dataset.mode = of;
      row.querySelector("bdi").textContent = name;
      row.querySelector("small").textContent = words(size);
      row.querySelector("button .sr").textContent = `Remove ${name}`;
      row.querySelector("progress").setAttribute("aria-label", `Sending ${name}`);
      row.querySelector("button").addEventListener("click", () => {
        const others = rows(), place = others.indexOf(row), next = others[place + 1] ?? others[place - 1];
        row.abort?.();
        take(row);
        say("");
        (next?.querySelector("button") ?? text).focus();
      });
      list.append(row);
      return row;
    }

    function take(row) {
      row.remove();
      changed();
    }

    function up(row, sent) {
      row.sent = sent;
      row.dataset.file = sent.id;
      row.querySelector("bdi").textContent = sent.name;
      row.querySelector("progress").remove();
      row.append(Object.assign(document.createElement("input"), { type: "hidden", name: "file", value: sent.id }));
      if (!sent.small) return;
      row.querySelector("svg").remove();
      Object.assign(row.querySelector("img"), { src: sent.small, hidden: false });
    }

    async function add(file) {
      if (rows().length >= most) return say(`A message has at most ${most} files. “${file.name}” was left out.`);
      if (file.size > limit) return say(`“${file.name}” is larger than ${words(limit)}.`);
      const row = draw(file.name, file.size), bar = row.querySelector("progress");
      changed();
      try {
        const sending = post(root.dataset.attach, file, await headers(), (part) => { bar.value = part; });
        row.abort = sending.abort;
        up(row, await sending.answer);
        status.textContent = `${file.name} is attached`;
        changed();
      } catch (problem) {
        isWaiting = false;
        if (problem) say(problem.message);
        if (row.isConnected) take(row);
      }
    }

    function addAll(files) {
      say("");
      for (const file of files) add(file);
    }

    input.addEventListener("change", () => { addAll([...input.files]); input.value = ""; });
    form.addEventListener("paste", (event) => {
      const { files, types } = event.clipboardData;
      if (!files.length || types.includes("text/plain")) return; // A text with a picture of itself is a text.
      event.preventDefault();
      addAll([...files]);
    });
    for (const name of ["dragover", "dragleave", "drop"]) {
      document.addEventListener(name, (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        form.toggleAttribute("data-dropping", name === "dragover");
        if (name === "drop") addAll([...event.dataTransfer.files]);
      });
    }
    form.addEventListener("submit", (event) => {
      if (!isBusy()) return;
      isWaiting = true;
      event.preventDefault();
      event.stopImmediatePropagation();
    }, { capture: true });

    let leaving = []; // What is attached while they are on their way stays for the next message.
    const clear = (gone) => {
      for (const row of all()) if (gone.includes(row.dataset.file)) row.remove();
      changed();
    };
    form.addEventListener("htmx:beforeRequest", () => { leaving = ids(); });
    form.addEventListener("htmx:afterRequest", ({ detail }) => { if (detail.successful && detail.elt === form) clear(leaving); });
    form.addEventListener("median:mode", () => { isWaiting = false; changed(); });
    const { keep } = root.dataset; // The widget has none: in a frame the browser may refuse storage.
    for (const [of, sent] of JSON.parse((keep && sessionStorage.getItem(keep)) || "[]")) up(draw(sent.name, sent.size, of), sent);
    changed();
    return { ids, clear };
  };
})();
