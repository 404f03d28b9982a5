import type { Context } from "./preact.js";

export function useState<T>(first: T): [T, (next: T | ((old: T) => T)) => void];
/** An element of the page, from the first `useEffect` on. */
export function useRef(first: null): { current: any };
export function useRef<T>(first: T): { current: T };
export function useEffect(effect: () => unknown, of?: readonly unknown[]): void;
export function useLayoutEffect(effect: () => unknown, of?: readonly unknown[]): void;
export function useContext<T>(context: Context<T>): T;
