// Preact with its hooks, and markup in template literals.

import htm from "./vendor/htm.js";
import { createContext, h, render } from "./vendor/preact.js";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";

export const html = htm.bind(h);
export { createContext, render, useContext, useEffect, useLayoutEffect, useRef, useState };
