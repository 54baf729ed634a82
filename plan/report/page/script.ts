/** Script of the page: the search. The page is complete without it. */
export const pageScript = `
const search = document.getElementById("search"), hits = document.getElementById("hits");
const nodes = [...document.querySelectorAll("[data-text]")];
function apply() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  const shown = new Set();
  for (const node of nodes) {
    if (!words.every((word) => node.dataset.text.includes(word))) continue;
    count++;
    for (let at = node; at; at = at.parentElement) shown.add(at);
  }
  for (const node of nodes) {
    node.hidden = !shown.has(node);
    if (words.length > 0 && shown.has(node) && node.querySelector("[data-text]")) node.open = true;
  }
  hits.textContent = words.length === 0 ? "" : count + " of " + nodes.length + " resources and components";
}
search.addEventListener("input", apply);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape" && document.activeElement === search) { search.value = ""; apply(); }
});
apply();
`;
