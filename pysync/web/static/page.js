// What the page does with JavaScript: it keeps itself up to date. Without it everything works but that.

const SLOWEST = 60_000;

const banner = document.getElementById("stale");
const pace = Number(document.body.dataset.live || 0) * 1000;

let wait = pace;
let heard = Date.now();

/** Whether somebody is typing or choosing in this part: then it stays as it is. */
function isInUse(part) {
  const active = document.activeElement;
  return part.contains(active) && active.matches("input, select, textarea");
}

/** How to find the element that has the focus again in the new part. */
function pathOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const link = element.getAttribute("href");
  return link ? `a[href="${CSS.escape(link)}"]` : null;
}

function replace(old, fresh) {
  if (isInUse(old) || old.innerHTML === fresh.innerHTML) return;
  const active = document.activeElement;
  const focused = old.contains(active) ? pathOf(active) : null;
  const open = new Set([...old.querySelectorAll("details[open][id]")].map((it) => it.id));
  old.replaceChildren(...fresh.childNodes);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused) old.querySelector(focused)?.focus({ preventScroll: true });
}

function tell(isStale) {
  if (!banner) return;
  banner.hidden = !isStale;
  if (isStale) {
    const seconds = Math.round((Date.now() - heard) / 1000);
    banner.textContent = `No answer from the sidecar for ${seconds} s: what you see is old.`;
  }
}

async function refresh() {
  try {
    const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of document.querySelectorAll("[data-live-part]")) {
      const part = fresh.getElementById(old.id);
      if (part) replace(old, part);
    }
    heard = Date.now();
    wait = pace;
    tell(false);
  } catch {
    wait = Math.min(wait * 2, SLOWEST);
    tell(true);
  }
}

async function keepFresh() {
  if (!document.hidden) await refresh();
  setTimeout(keepFresh, wait);
}

if (pace) {
  setTimeout(keepFresh, pace);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}

// `/` leads to the search, as on other pages that people work with.
document.addEventListener("keydown", (event) => {
  const search = document.getElementById("find-table");
  const isTyping = event.target.matches("input, select, textarea");
  if (event.key === "/" && search && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});
