import { describe, expect, test } from 'vitest';
import { createRequestBatches } from '../pipeline/pipeline.ts';

interface Setup {
  readonly steps: string[];
  /** A request of two steps. */
  readonly request: (name: string) => Promise<void>;
  /** Ends the turn of the event loop. */
  readonly turn: () => Promise<void>;
  readonly due: (() => void)[];
}

function setUp(): Setup {
  const due: (() => void)[] = [];
  const joinBatch = createRequestBatches((task) => void due.push(task));
  const steps: string[] = [];
  return {
    steps,
    due,
    async request(name) {
      await joinBatch();
      steps.push(`${name}1`);
      await Promise.resolve();
      steps.push(`${name}2`);
    },
    async turn() {
      for (const task of due.splice(0)) task();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('requests that come in one turn', () => {
  test('take each step together, in the order in which they came', async () => {
    const { request, turn, steps } = setUp();
    const all = Promise.all(['a', 'b', 'c'].map(request));
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
