// What the scripts of the console share: the bodies of the API by their names and paths, and the states of requests.

import type { Answers, Requests } from "./api";
import type { Refusal } from "../src/assets/api.js";
import type { VNode } from "../src/assets/vendor/preact.js";

declare const parts: unique symbol;

type Part<Text> = Text extends `{${string}}` ? string : Text;
type Split<Text> = Text extends `${infer Head}/${infer Tail}` ? [Part<Head>, ...Split<Tail>] : [Part<Text>];
type Parts<Path> = Path extends { [parts]: infer List extends readonly unknown[] } ? [...List] : Split<Path>;
type Fits<Given, Wanted> = [Given] extends [Wanted] ? true : false;
/** The entries of `Table` for a method and a path; `{name}` in a path of the document fits any text. */
type Fitting<Table, Method extends string, List> = {
  [Key in keyof Table]: Key extends `${Lowercase<Method>} ${infer Text}`
    ? Fits<List, Split<Text>> extends true
      ? { entry: Table[Key]; isExact: Fits<Split<Text>, List> }
      : never
    : never;
}[keyof Table];
/** The entry whose fixed parts are the most; `never` if the document has none. */
type Entry<Found extends { entry: unknown; isExact: boolean }> = [Extract<Found, { isExact: true }>] extends [never]
  ? Found["entry"]
  : Extract<Found, { isExact: true }>["entry"];

declare global {
  type Html = VNode | string | number | null | undefined | false | Html[];

  /** An event of any kind on any element, as the handlers in templates get it. */
  interface Happening extends Omit<DragEvent & KeyboardEvent, "target" | "currentTarget"> {
    target: HTMLInputElement;
    currentTarget: HTMLFormElement & HTMLDetailsElement;
  }
  type Values = Record<string, string>;

  /** A path whose parts are known, as `path` makes it. */
  type PathOf<List extends readonly unknown[]> = string & { [parts]: List };
  /** The body that `method` takes and answers at `path`. */
  type BodyOf<Path, Method extends string = "GET"> = Path extends unknown
    ? Entry<Fitting<Answers, Method, Parts<Path>>>
    : never;
  type Given<Path, Method extends string> = Path extends unknown
    ? Entry<Fitting<Requests, Method, Parts<Path>>>
    : never;

  /** An error that a page shows; only the server's refusals have a status. */
  type ShownError = Error & Partial<Refusal>;
  /** The JSON of a refusal, whichever of the document's errors it is. */
  interface RefusalBody {
    code?: Api.Error["code"];
    detail?: Api.Error["detail"] | Api.ValidationError["detail"];
    error?: Api.MultiAddressError["error"];
  }
  interface Answered<T> {
    body: T;
    text: string;
    cost: number;
    left: string | null;
    scoreId: string | null;
    sandbox: boolean;
  }
  interface Asked<T> {
    path?: string | null;
    answer?: Answered<T>;
    error?: Refusal;
    loading?: boolean;
    again: () => void;
  }
  /** What the answer to `asked` is, for the function that shows it. */
  type Shown<T> = T extends Asked<infer B> ? Answered<B> : never;
  interface Sending {
    method?: string;
    body?: BodyInit;
    headers?: Record<string, string>;
    signal?: AbortSignal;
    key?: string | null;
  }
  interface Action<T> {
    busy?: boolean;
    error?: Refusal;
    done?: T;
    start: <U>(work: () => U | Promise<U>) => Promise<U | undefined>;
  }
  /** The key that is signed in. */
  type Identified = Api.Usage & { sandbox: boolean };
  /** What a view gets from the address. */
  interface Place {
    parts: string[];
    query: URLSearchParams;
  }
  /** What shows a place. */
  type View = (place: Place) => Html;
  /** A wallet that was looked up in this tab. */
  interface Recent {
    address: string;
    /** The name that was looked up. */
    name?: string;
    score: number;
    range: Api.Range;
    at: string;
  }
  interface InMarket {
    market: string;
    usd: number;
  }
  /** A change to a wallet, as the API takes it. */
  type Change =
    | { repay: InMarket }
    | { deposit: InMarket }
    | { price: { asset: string; percent: number } }
    | { days: number };
  interface Holding {
    kind: "token" | "deposit" | "debt";
    asset: string;
    name?: string;
    address?: string;
    chain: number;
    balance?: string;
    value: number | null;
    source?: string;
  }
  /** A model whose role changes, or the version that a rollback brings back. */
  interface Changing {
    kind: string;
    version: string;
    add?: boolean;
    versions?: string[];
  }
  interface RoleChange {
    title: (model: Changing) => string;
    says: string;
    action: string;
    forcible?: boolean;
    silent?: boolean;
    send: (
      model: Changing,
      given: { why?: string; force?: boolean },
    ) =>
      | ["PUT", [kind: string, "champion"], Api.OneVersion]
      | ["PUT", [kind: string, "challengers"], Api.SeveralVersions]
      | ["POST", [kind: string, "rollback"], Api.RollBack]
      | ["DELETE", [kind: string, version: string]];
  }
  interface AskedChange {
    change: string;
    model: Changing;
  }
  /** A moment at which there was a score. */
  type Scored = Api.ScorePoint & Required<Pick<Api.ScorePoint, "score" | "range">>;
  /** A market on the time axis, with its events if they are known. */
  interface Line {
    name: string;
    from: string;
    to: string;
    events?: Api.PoolEvent[];
    /** Until when its events are not loaded. */
    missing?: string;
  }
  /** Scores from `from` to `to`, and their number in each series. */
  interface Bin {
    from: number;
    to: number;
    counts: number[];
  }
  /** A name and a value; what is not known is left out. */
  type Fact = [name: string, value: Html] | false | "" | null | undefined;
  /** A cell of the head of a table; `figures` aligns its column to the right. */
  type Head = string | { figures: string };
  interface Column<Row> {
    title: string;
    isFigure?: boolean;
    of: (row: Row) => string | number;
    show: (row: Row) => Html;
  }
}
