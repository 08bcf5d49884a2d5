import { describe, expect, test } from 'vitest';
import { createRequestBatches } from './pipeline.ts';

interface Setup {
  readonly steps: string[];
  /** A request of two steps. */
  readonly request: (name: string, flow?: string) => Promise<void>;
  /** Ends the turn of the event loop; returns the names of the requests that it started. */
  readonly turn: () => Promise<readonly string[]>;
  /** Ends turns until no request waits; returns what each started. */
  readonly turns: () => Promise<readonly (readonly string[])[]>;
  readonly due: (() => void)[];
  readonly pass: (ms: number) => void;
}

function setUp(): Setup {
  const due: (() => void)[] = [];
  let nowMs = 0;
  const joinBatch = createRequestBatches({
    clock: { monotonic: () => nowMs },
    defer: (task) => void due.push(task),
  });
  const steps: string[] = [];
  async function turn(): Promise<readonly string[]> {
    const before = steps.length;
    for (const task of due.splice(0)) task();
    await new Promise((resolve) => setImmediate(resolve));
    return steps
      .slice(before)
      .filter((step) => step.endsWith('1'))
      .map((step) => step.slice(0, -1));
  }
  return {
    steps,
    due,
    turn,
    async turns() {
      const all: (readonly string[])[] = [];
      while (due.length > 0) all.push(await turn());
      return all;
    },
    async request(name, flow = 'ann') {
      await joinBatch(flow);
      steps.push(`${name}1`);
      await Promise.resolve();
      steps.push(`${name}2`);
    },
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

const flood = ({ request }: Setup, count: number, flow: string): void => {
  for (let index = 0; index < count; index += 1) void request(`${flow}-${index}.`, flow);
};

describe('requests that come in one turn', () => {
  test('take each step together, in the order in which they came', async () => {
    const { request, turn, steps } = setUp();
    const all = Promise.all(['a', 'b', 'c'].map((name) => request(name)));
    expect(steps).toEqual([]);
    await turn();
    await all;
    expect(steps).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
  });

  test('are not mixed with those of the next', async () => {
    const { request, turn, steps } = setUp();
    void request('a');
    await turn();
    void request('b');
    expect(steps).toEqual(['a1', 'a2']);
    await turn();
    expect(steps).toEqual(['a1', 'a2', 'b1', 'b2']);
  });

  test('take several turns if they are many, and none is forgotten', async () => {
    const { request, turn, steps, due } = setUp();
    for (let i = 0; i < 100; i += 1) void request(`${i}.`);
    const counts: number[] = [];
    while (due.length > 0) {
      await turn();
      counts.push(steps.length / 2);
      if (counts.length === 1) void request('late');
    }
    expect(counts).toEqual([32, 64, 96, 101]);
    void request('later');
    expect(due).toHaveLength(1);
  });
});

describe('clients that share the server', () => {
  test('a request that comes behind a flood starts in the next turn, with few of the flood', async () => {
    const setup = setUp();
    flood(setup, 100, 'bob');
    void setup.request('quiet', 'ann');
    const started = await setup.turn();
    expect(started).toContain('quiet');
    expect(started).toHaveLength(5);
  });

  test('batches stay short while another client was there lately', async () => {
    const setup = setUp();
    void setup.request('quiet', 'ann');
    await setup.turn();
    flood(setup, 10, 'bob');
    expect((await setup.turns()).map(({ length }) => length)).toEqual([4, 4, 2]);
    setup.pass(10_000);
    flood(setup, 10, 'bob');
    expect((await setup.turns()).map(({ length }) => length)).toEqual([10]);
  });

  test('many clients fill a batch, and each has its turn before one has two', async () => {
    const setup = setUp();
    const names = Array.from({ length: 12 }, (_, index) => `user${index}`);
    for (const name of names) flood(setup, 8, name);
    const [first = [], second = [], ...rest] = await setup.turns();
    expect([first.length, second.length]).toEqual([32, 32]);
    const users = new Set([...first, ...second.slice(0, 16)].map((request) => request.split('-')[0]));
    expect([...users]).toEqual(names);
    expect([first, second, ...rest].flat()).toHaveLength(96);
  });
});
