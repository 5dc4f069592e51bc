// Before anything is painted: the theme that was chosen here, else the system's, also when that changes.
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
