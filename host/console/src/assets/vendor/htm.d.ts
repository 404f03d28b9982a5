import type { VNode } from "./preact.js";

/** What a template contains: handlers of events, and anything else. Attributes are not compared with the component. */
type Part = ((event: Happening) => unknown) | {} | null | undefined;

declare const htm: {
  bind(h: unknown): (strings: TemplateStringsArray, ...parts: Part[]) => VNode;
};
export default htm;
