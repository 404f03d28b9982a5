export interface VNode {
  type: unknown;
  props: unknown;
}
export interface Context<T> {
  Provider: (props: { value: T }) => VNode;
}
export function h(type: unknown, props: unknown, ...children: unknown[]): VNode;
export function render(what: VNode, into: Element): void;
export function createContext<T>(value: T): Context<T>;
