(() => {
  const root = document.documentElement, button = document.getElementById("switch");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const say = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; say(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", say);
  button.hidden = false;
  say();
})();
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("code");
    getSelection().selectAllChildren(text);
    try { await navigator.clipboard.writeText(text.textContent); button.textContent = "Copied"; }
    catch { button.textContent = "Selected"; }
  });
}
