// The suite of a tester: what a client of scores has to handle, written against a sandbox alone. Each condition is had
// by an address or an agent; the ones marked `anywhere` exist on a server with chains too. Nothing is shared between two
// runs: each mints its own key.
import createClient from "openapi-fetch";
import type { paths } from "./assay.d.ts";

type Fetch = typeof fetch;

export interface World {
  /** The URL of the server, and a key with every scope. */
  url: string;
  key: string;
  /** The name of this run, with which the names of its keys begin. */
  run: string;
  /** A wallet with activity and one without. */
  active: string;
  inactive: string;
  /** A client of x402 of this version, with a new account. */
  payer: (version: 1 | 2) => Fetch;
}

export interface Condition {
  name: string;
  anywhere?: true;
  check: (tester: Tester) => Promise<void>;
}

export class Tester {
  readonly world: World;
  readonly key: string;
  readonly api;

  constructor(world: World, key: string) {
    this.world = world;
    this.key = key;
    this.api = createClient<paths>({ baseUrl: world.url, headers: { authorization: `Bearer ${key}` } });
  }

  /** With a new key of this name, which nothing else counts for. */
  static async of(world: World, name: string): Promise<Tester> {
    const admin = new Tester(world, world.key).api;
    const { data, error } = await admin.POST("/api/v2/admin/keys", { body: { name, scopes: ["read", "submit"] } });
    if (!data) throw new Error(`no key: ${JSON.stringify(error)}`);
    return new Tester(world, data.secret);
  }

  score(address: string, query: { include_factors?: boolean; model_version?: string } = {}) {
    return this.api.GET("/api/v2/score/address/{address}", { params: { path: { address }, query } });
  }

  report(address: string) {
    return this.api.GET("/api/v2/report/address/{address}", { params: { path: { address } } });
  }

  submit(agent_id: number, address: string) {
    return this.api.POST("/api/v2/agents/{agent_id}/reputation", {
      params: { path: { agent_id } }, body: { address, tags: ["creditScore"] },
    });
  }

  /** The state in which a submission ends. */
  async ended(status_url: string): Promise<{ status: string; error?: string | null }> {
    for (;;) {
      const headers = { authorization: `Bearer ${this.key}` };
      const answer = await fetch(`${this.world.url}${status_url}?wait=20`, { headers });
      const status = await answer.json();
      if (answer.status !== 200) throw new Error(JSON.stringify(status));
      if (["confirmed", "failed"].includes(status.status)) return status;
    }
  }
}

function same(actual: unknown, expected: unknown, what = "the answer"): void {
  const [one, other] = [actual, expected].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`${what} is ${one}, not ${other}`);
}

function ok(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

const at = (last: string) => `0x${last.padStart(40, "0")}`;

/** A refusal with this status and code; with `Retry-After` if `retry` says so. */
const refused = (last: string, status: number, code: string | null, retry: boolean) => async (tester: Tester) => {
  const { error, response } = await tester.score(at(last));
  same([response.status, (error as { code?: string } | undefined)?.code ?? null], [status, code]);
  same(response.headers.has("retry-after"), retry, "Retry-After");
};

const coverage = (last: string, expected: string) => async (tester: Tester) => {
  const { data } = await tester.score(at(last));
  same([data?.credit_events_coverage, data?.provisional], [expected, true]);
};

const band = (last: string, range: string) => async (tester: Tester) => {
  const { data } = await tester.score(at(last));
  same(data?.range, range);
};

const failing = (agent: number, part: string) => async (tester: Tester) => {
  const { data } = await tester.submit(agent, tester.world.active);
  ok(data, "it is accepted");
  const ended = await tester.ended(data.status_url);
  same(ended.status, "failed");
  ok(ended.error?.includes(part), `${ended.error}`);
};

const paying = (version: 1 | 2, agent: number, status: number) => async ({ world }: Tester) => {
  const answer = await world.payer(version)(`${world.url}/api/v2/agents/${agent}/reputation`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ address: world.active, tags: ["creditScore"] }),
  });
  same(answer.status, status, await answer.text());
};

const REFUSALS = [
  "network", "recipient", "value", "not-yet-valid", "expired", "signature", "insufficient-funds", "nonce-used",
  "transaction-reverted", "settlement-failed",
];

export const CONDITIONS: Condition[] = [
  {
    name: "a score has its fields, and its range fits it",
    anywhere: true,
    check: async (tester) => {
      const { data } = await tester.score(tester.world.active);
      ok(data, "there is a score");
      const lowest = { low: 300, fair: 640, good: 750, very_good: 840, excellent: 920 };
      const ranges = Object.entries(lowest).filter(([, score]) => score <= data.score);
      same(data.range, ranges.at(-1)?.[0]);
      ok(data.decile >= 1 && data.decile <= 10 && data.address && data.timestamp, JSON.stringify(data));
    },
  },
  {
    name: "the factors and the base are the score",
    check: async (tester) => {
      const { data } = await tester.score(at("2"), { include_factors: true });
      same(300 + (data?.factors ?? []).reduce((sum, { points }) => sum + points, 0), data?.score);
    },
  },
  {
    name: "the same wallet has the same score",
    anywhere: true,
    check: async (tester) => {
      const [one, other] = await Promise.all([tester.score(tester.world.active), tester.score(tester.world.active)]);
      same(one.data?.score, other.data?.score);
    },
  },
  { name: "an excellent wallet", check: band("1", "excellent") },
  { name: "a good wallet", check: band("2", "good") },
  { name: "a fair wallet", check: band("3", "fair") },
  { name: "a low wallet", check: band("4", "low") },
  {
    name: "a first read is pending, and the score changes when it is complete; a reset begins again",
    check: async ({ world }) => {
      const tester = await Tester.of(world, `${world.run}-reset`);
      for (let round = 0; round < 2; round += 1) {
        const seen = [];
        for (let i = 0; i < 3; i += 1) seen.push((await tester.score(at("101"))).data);
        same(seen.map((one) => one?.credit_events_coverage), ["pending", "pending", "complete"]);
        ok(seen[0]!.score < seen[2]!.score && seen[0]!.provisional && !seen[2]!.provisional, "the score rises");
        const { response } = await tester.api.POST("/api/v2/sandbox/reset");
        same(response.status, 204);
      }
    },
  },
  { name: "a history that is not current", check: coverage("102", "partial") },
  {
    name: "a pool that could not be read has null counts",
    check: async (tester) => {
      await coverage("103", "failed")(tester);
      const pools = (await tester.report(at("103"))).data?.credit_events?.pools ?? [];
      same(pools.filter((pool) => pool.coverage === "failed").map((pool) => pool.counts.borrow), [null]);
    },
  },
  {
    name: "a missing price is named",
    check: async (tester) => {
      await coverage("104", "partial")(tester);
      const { data } = await tester.report(at("104"));
      ok(data?.unread?.[0]?.includes("price"), JSON.stringify(data?.unread));
    },
  },
  {
    name: "a chain that could not be read",
    check: async (tester) => {
      await coverage("105", "failed")(tester);
      const path = { address: at("105"), chain_id: 42161 as const };
      const { response } = await tester.api.GET("/api/v2/report/address/{address}/chain/{chain_id}", { params: { path } });
      same([response.status, response.headers.has("retry-after")], [502, true]);
    },
  },
  {
    name: "liquidated yesterday",
    check: async (tester) => {
      const events = (await tester.report(at("106"))).data?.credit_events?.events ?? [];
      const last = events.find(({ kind }) => kind === "liquidation");
      const hours = (Date.now() - Date.parse(last?.at ?? "")) / 3_600_000;
      ok(hours > 23 && hours < 25, `${hours} hours`);
    },
  },
  {
    name: "no activity is 404 for a score, and a report of zeros",
    anywhere: true,
    check: async (tester) => {
      const { inactive } = tester.world;
      same((await tester.score(inactive)).response.status, 404);
      const { data } = await tester.report(inactive);
      same([data?.score.inactive, data?.assets.total_value_usd, data?.activity.total_transactions], [true, 0, 0]);
    },
  },
  { name: "too many requests", check: refused("108", 429, "too_many_requests", true) },
  { name: "no chain answers", check: refused("109", 502, null, true) },
  { name: "overloaded", check: refused("10a", 503, "busy", true) },
  { name: "an answer that takes too long", check: refused("201", 504, null, true) },
  { name: "a fault of the model", check: refused("202", 500, "trap", false) },
  { name: "no units left", check: refused("203", 429, "units_used_up", false) },
  { name: "a wallet that the model refuses", check: refused("204", 404, "not_scored", false) },
  {
    name: "a client that waits for a second gives up on a slow answer",
    check: async (tester) => {
      const headers = { authorization: `Bearer ${tester.key}` };
      const signal = AbortSignal.timeout(1_000);
      const slow = fetch(`${tester.world.url}/api/v2/score/address/${at("10b")}`, { headers, signal });
      same(await slow.then(() => "answered", (error) => error.name), "TimeoutError");
    },
  },
  {
    name: "a client that repeats gets its score",
    check: async (tester) => {
      const statuses = [];
      for (let i = 0; i < 3; i += 1) statuses.push((await tester.score(at("205"))).response.status);
      same(statuses, [503, 503, 200]);
    },
  },
  {
    name: "a wallet that has none is left out of several",
    anywhere: true,
    check: async (tester) => {
      const { active, inactive } = tester.world;
      const query = { address: `${active},${inactive},0x12` };
      const { data } = await tester.api.GET("/api/v2/score/batch/", { params: { query } });
      same([data?.count, data?.skipped?.map(({ reason }) => reason).sort()], [1, ["invalid", "not_found"]]);
    },
  },
  {
    name: "a wrong key",
    anywhere: true,
    check: async ({ world }) => same((await new Tester(world, "wrong").score(world.active)).response.status, 401),
  },
  {
    name: "a key without the scope",
    anywhere: true,
    check: async (tester) => {
      const { response, error } = await tester.api.GET("/api/v2/admin/keys");
      same([response.status, (error as { code?: string } | undefined)?.code], [403, "scope"]);
    },
  },
  {
    name: "no address",
    anywhere: true,
    check: async (tester) => same((await tester.score("0x12")).response.status, 400),
  },
  {
    name: "a version that does not exist",
    anywhere: true,
    check: async (tester) => {
      const { response } = await tester.score(tester.world.active, { model_version: "9.9" });
      same(response.status, 404);
    },
  },
  {
    name: "off-chain assets raise a score",
    anywhere: true,
    check: async (tester) => {
      const base = (await tester.score(tester.world.active)).data;
      const { data } = await tester.api.POST("/api/v2/score/address/{address}", {
        params: { path: { address: tester.world.active } }, body: { total_asset_usd: 50_000 },
      });
      ok(base && data && data.score > base.score, `${base?.score} ${data?.score}`);
    },
  },
  {
    name: "the history ends at the score",
    check: async (tester) => {
      const [path, query] = [{ address: at("1") }, { from: "2022-01-01", every: "90d" }];
      const { data } = await tester.api.GET("/api/v2/score/address/{address}/history", { params: { path, query } });
      same([data?.pending, data?.points.at(-1)?.state], [false, "scored"]);
    },
  },
  {
    name: "a statement says that a sandbox made it",
    check: async (tester) => {
      const { data, response } = await tester.api.POST("/api/v2/score/address/{address}/attestation", {
        params: { path: { address: at("1") } },
      });
      same([response.status, response.headers.get("x-assay-sandbox")], [200, "true"]);
      const content = (data as unknown as { sig: { message: { data: string } } }).sig.message.data;
      // The last of the fixed fields, `bool sandbox`: 15 words, of which the offsets of texts are some.
      same(content.slice(2 + 14 * 64, 2 + 15 * 64), "1".padStart(64, "0"));
    },
  },
  {
    name: "a submission is confirmed",
    check: async (tester) => {
      const { data } = await tester.submit(1, at("1"));
      ok(data, "it is accepted");
      same((await tester.ended(data.status_url)).status, "confirmed");
    },
  },
  { name: "a submission that cannot be scored", check: failing(101, "chain 10") },
  { name: "a submission that cannot be uploaded", check: failing(102, "IPFS") },
  { name: "a submission that the registry refuses", check: failing(103, "Reputation Registry") },
  { name: "an agent that does not exist", check: async (tester) => same((await tester.submit(20, at("1"))).response.status, 404) },
  { name: "a payment by x402, version 1", check: paying(1, 114, 202) },
  { name: "a payment by x402, version 2", check: paying(2, 114, 202) },
  ...REFUSALS.map((why, i) => ({ name: `a payment that is refused: ${why}`, check: paying(1, 104 + i, 402) })),
];
