// What the page does with JavaScript: it keeps itself up to date, shows times in the reader's zone, reads values of curves,
// selects all rows of a list, and suggests tables. Without it everything works, with times in UTC.

const SLOWEST = 60_000;

const banner = document.getElementById("stale");
const pace = Number(document.body.dataset.live || 0) * 1000;

let wait = pace;
let heard = Date.now();
const old = "what you see is old.";
const signedOut = 403;

const two = (number) => String(number).padStart(2, "0");

/** `2026-11-23 12:40:02+01:00`, as the commands print it. */
function local(date) {
  const ahead = -date.getTimezoneOffset();
  const zone = `${ahead < 0 ? "-" : "+"}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`;
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}${zone}`;
}

/** Show a time in the reader's zone; UTC is its title. Where it is told as an age, the title has both. */
function localize(time) {
  const shown = time.textContent === time.title ? time : time.querySelector(".absolute");
  const text = local(new Date(time.dateTime));
  const [day, clock] = text.split(" ");
  if (time.className === "day") time.textContent = day;
  if (time.className === "clock") time.textContent = clock.slice(0, 5);
  if (shown) shown.textContent = text;
  else time.title = `${text} = ${time.title}`;
}

let chosen = null; // the curve that somebody reads, and the time of the value

/** Have the values of a curve told where the pointer is, and by the arrow keys. */
function makeReadable(curve) {
  const values = JSON.parse(curve.dataset.values);
  const reading = curve.closest("figure").querySelector(".reading");
  const [line, dot] = curve.querySelectorAll(".chosen");
  const latest = reading.textContent;
  let place = values.length - 1;

  function show(next) {
    place = Math.max(0, Math.min(values.length - 1, next));
    const [x, y, at, label] = values[place];
    const text = `${label} at ${local(new Date(at * 1000))}`;
    line.setAttribute("d", `M${x} 0V100`);
    dot.setAttribute("d", `M${x} ${y}h0.01`);
    reading.textContent = text;
    curve.setAttribute("aria-valuenow", place);
    curve.setAttribute("aria-valuetext", text);
    chosen = { id: curve.id, at };
  }

  function leave() {
    line.setAttribute("d", "");
    dot.setAttribute("d", "");
    reading.textContent = latest;
    chosen = null;
  }

  /** The value that is nearest by a number of it. */
  function nearest(wanted, part) {
    const apart = values.map((it) => Math.abs(it[part] - wanted));
    return apart.indexOf(Math.min(...apart));
  }

  const attributes = { role: "slider", tabindex: 0, "aria-readonly": true, "aria-valuemin": 0 };
  Object.entries(attributes).forEach(([name, value]) => curve.setAttribute(name, value));
  curve.setAttribute("aria-valuemax", values.length - 1);
  curve.setAttribute("aria-valuenow", place);
  curve.setAttribute("aria-valuetext", latest);
  curve.addEventListener("pointermove", (event) => {
    const box = curve.getBoundingClientRect();
    show(nearest(((event.clientX - box.left) / box.width) * 1000, 0));
  });
  curve.addEventListener("pointerleave", () => document.activeElement === curve || leave());
  curve.addEventListener("focus", () => show(place));
  curve.addEventListener("blur", leave);
  curve.addEventListener("keydown", (event) => {
    const page = Math.ceil(values.length / 10);
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageDown: -page, PageUp: page, Home: -values.length, End: values.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(place + steps[event.key]);
  });
  if (chosen?.id === curve.id) show(nearest(chosen.at, 2));
}

const narrow = matchMedia("(max-width: 46rem)");

/** On a phone the boxes show their figures alone, until they are opened. Elsewhere nothing can be folded. */
function fold(part) {
  for (const it of part.querySelectorAll("details.fold")) it.open = !narrow.matches;
}

/** Let all rows of a list be selected at once, and say how many are. */
function makeSelectable(form) {
  const all = form.querySelector(".select-all");
  const said = form.querySelector(".chosen-count");
  const boxes = [...form.querySelectorAll("[name=tables]")];
  if (!all || !said) return;

  function show() {
    const number = boxes.filter((it) => it.checked).length;
    said.textContent = `${number} of ${boxes.length} selected`;
    all.checked = number === boxes.length;
    all.indeterminate = number > 0 && !all.checked;
  }

  all.hidden = false;
  all.addEventListener("change", () => {
    boxes.forEach((it) => (it.checked = all.checked));
    show();
  });
  form.addEventListener("change", show);
  show();
}

/** Make a part of the page ready to be shown. */
function prepare(part) {
  fold(part);
  part.querySelectorAll("form.selection").forEach(makeSelectable);
  part.querySelectorAll("time[datetime]").forEach(localize);
  part.querySelectorAll("svg[data-values]").forEach(makeReadable);
}

/** Whether somebody is typing or choosing in this part, or has chosen: then it stays as it is. */
function isInUse(part) {
  const active = document.activeElement;
  const isTyping = part.contains(active) && active.matches("input, select, textarea");
  return isTyping || part.querySelector("input:checked, .question[open]") !== null;
}

/** How to find the element that has the focus again in the new part. */
function pathOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const link = element.getAttribute("href");
  return link ? `a[href="${CSS.escape(link)}"]` : null;
}

/** Put the content of `fresh` in, which is ready; what was open stays open, and what had the focus has it again. */
function replace(shown, fresh) {
  if (isInUse(shown) || shown.innerHTML === fresh.innerHTML) return;
  const active = document.activeElement;
  const focused = shown.contains(active) ? pathOf(active) : null;
  const open = [...shown.querySelectorAll("details[open][id]")].map((it) => it.id);
  shown.replaceChildren(...fresh.childNodes);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused) shown.querySelector(focused)?.focus({ preventScroll: true });
}

/** Say why the page is not fresh; nothing where it is. */
function tell(why) {
  if (!banner) return;
  banner.hidden = !why;
  banner.textContent = why;
}

async function refresh() {
  try {
    const headers = { "X-Pysync-Live": "1" };
    const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error", headers });
    if (answer.status === signedOut) {
      tell(`You are signed out: ${old} Load the page again.`);
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    prepare(fresh);
    for (const shown of document.querySelectorAll("[data-live-part]")) {
      const part = fresh.getElementById(shown.id);
      if (part) replace(shown, part);
    }
    heard = Date.now();
    wait = pace;
    tell("");
  } catch {
    wait = Math.min(wait * 2, SLOWEST);
    tell(`No answer from the sidecar for ${Math.round((Date.now() - heard) / 1000)} s: ${old}`);
  }
}

prepare(document);
narrow.addEventListener("change", () => fold(document));

async function keepFresh() {
  if (!document.hidden) await refresh();
  setTimeout(keepFresh, wait);
}

if (pace) {
  setTimeout(keepFresh, pace);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}

const TYPING = 200;

/** Offer the names of a few tables that have what is typed in them. */
function suggest(search, list) {
  let timer = null;
  let asked = null;

  async function offer() {
    asked?.abort();
    asked = new AbortController();
    try {
      const address = `/suggestions?${new URLSearchParams({ name: search.value })}`;
      const answer = await fetch(address, { credentials: "same-origin", redirect: "error", signal: asked.signal });
      const names = answer.ok ? await answer.json() : [];
      list.replaceChildren(...names.map((name) => new Option("", name)));
    } catch {
      // A newer question took its place, or the sidecar does not answer: the search itself says so.
    }
  }

  search.addEventListener("input", () => {
    const isChosen = [...list.options].some((it) => it.value === search.value);
    clearTimeout(timer);
    if (!isChosen) timer = setTimeout(offer, TYPING);
  });
}

const suggested = document.getElementById("suggested-tables");
if (suggested) suggest(document.getElementById("find-table"), suggested);

// `/` leads to the search, as on other pages that people work with.
document.addEventListener("keydown", (event) => {
  const search = document.getElementById("find-table");
  const isTyping = event.target.matches("input, select, textarea");
  if (event.key === "/" && search && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});
