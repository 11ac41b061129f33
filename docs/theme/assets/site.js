// What the pages need beyond Material. They can be read without it.
{
  // The language switch keeps the section that is being read; navigation.tracking keeps location.hash up to date.
  const language = document.querySelector("[data-language-switch]");
  for (const event of ["pointerdown", "focus", "click"])
    language?.addEventListener(event, () => { language.hash = location.hash; });

  // Menu and search are labels of hidden check boxes: for the keyboard they need a button.
  for (const label of document.querySelectorAll(".md-header label:is([for=__drawer], [for=__search]).md-header__button")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...label.childNodes);
    button.addEventListener("click", () => document.getElementById(label.htmlFor).click());
    label.append(button);
  }

  // What scrolls sideways can be reached and scrolled with the keyboard; what fits is no tab stop.
  addEventListener("load", () => { // by then Material has added its copy buttons
    for (const nav of document.querySelectorAll(".md-code__nav")) nav.role = "none"; // a button alone is no landmark
    const sizes = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
        else target.removeAttribute("tabindex");
      }
    });
    document.querySelectorAll(".fx-table, .fx-scroll, .fx pre, .pt2e-table").forEach((box) => sizes.observe(box));
  });
}
