// Not a module, so that it runs before the first paint. Applies the stored theme, or else follows the system's.
{
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = localStorage.getItem("theme") ?? (system.matches ? "dark" : "light");
    dispatchEvent(new Event("themechange"));
  };
  system.addEventListener("change", apply);
  addEventListener("themechosen", apply);
  apply();
}
