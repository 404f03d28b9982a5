// `/` goes to the search of the view, or to that of Look up. Nothing that is typed meanwhile is lost.

import { go } from "./route.js";

/** What was typed since `/`, before the field was there. */
let typed = /** @type {string | null} */ (null);

/** @param {KeyboardEvent} event */
export function search(event) {
  const { target, key, ctrlKey, metaKey, altKey } = event;
  const isTyping = target instanceof Element && target.closest("input, textarea, select, dialog");
  if (ctrlKey || metaKey || altKey || isTyping) return;
  if (typed !== null && key.length === 1) {
    event.preventDefault();
    typed += key;
    return;
  }
  if (key !== "/") return;
  event.preventDefault();
  const field = /** @type {HTMLElement | null} */ (document.querySelector("form[role=search] input"));
  if (field) field.focus();
  else {
    typed = "";
    go(["look-up"]);
  }
}

/**
 * Gives the focus to `field`, with what was typed, if `/` asked for it.
 * @param {HTMLInputElement} field
 */
export function take(field) {
  if (typed === null) return;
  field.value = typed;
  typed = null;
  field.focus();
}
