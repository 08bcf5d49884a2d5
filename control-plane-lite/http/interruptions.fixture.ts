/** Interrupts a request at any step of its way through the server, for tests. Steps are found by inspecting
 *  the parts of the pipeline, so that one added later is interrupted as well. */
import type { Clock, Timer } from '#api/kit/clock.ts';

/** Parts that neither wait for anything in a request nor decide about it. */
const NO_STEPS: ReadonlySet<string> = new Set([
  'clock',
  'log',
  'metrics',
  'registry',
  'isServed',
  'inFlight.leave',
  'inFlight.count',
  'inFlight.waiting',
  'flowControl.count',
  'flowControl.waiting',
  // For the objects of the API server, and for debugging.
  'flowControl.configure',
  'flowControl.levels',
]);

/** Synchronous steps: they can fail, but nothing can happen meanwhile. */
const AT_ONCE: ReadonlySet<string> = new Set([
  'router',
  'encodeStatus',
  'audit.begin',
  'inFlight.tryEnter',
  'flowControl.arrive',
]);

export const isAtOnce = (step: string): boolean => AT_ONCE.has(step);

export type When = 'before' | 'during' | 'after' | 'throws' | 'rejects';

export interface Interruption {
  readonly step: string;
  readonly when: When;
  /** The interruption of the request. */
  readonly act: () => Promise<unknown>;
}

export interface Interruptions {
  /** Runs once, at the next request. */
  plan(interruption: Interruption | undefined): void;
  /** Steps of the requests since the last plan, in order. */
  readonly reached: readonly string[];
  /** Runs a step, which the plan may interrupt. */
  readonly step: <T>(name: string, call: () => T | Promise<T>) => T | Promise<T>;
  /** Wraps the parts so that each step can be interrupted. */
  wrap<Parts extends object>(parts: Parts): Parts;
}

/** Returns the names of the parts' steps. */
export function stepsOf(parts: object): readonly string[] {
  const names = Object.keys(parts).flatMap((name): readonly string[] => {
    const part: unknown = NO_STEPS.has(name) ? undefined : Reflect.get(parts, name);
    if (typeof part === 'function') return [name];
    if (!isObject(part)) return [];
    return Object.keys(part)
      .filter((member) => typeof Reflect.get(part, member) === 'function')
      .map((member) => `${name}.${member}`);
  });
  return names.filter((name) => !NO_STEPS.has(name));
}

const isObject = (part: unknown): part is object => typeof part === 'object' && part !== null;

export function createInterruptions(): Interruptions {
  let planned: Interruption | undefined;
  let reached: string[] = [];

  async function interrupted<T>({ when, act }: Interruption, call: () => T | Promise<T>): Promise<T> {
    if (when === 'rejects') throw new Error('a step that rejects');
    if (when === 'before') await act();
    const result = call();
    // The pipeline awaits it later.
    if (result instanceof Promise) result.catch(() => undefined);
    if (when === 'during') await act();
    try {
      return await result;
    } finally {
      if (when === 'after') await act();
    }
  }

  const step: Interruptions['step'] = (name, call) => {
    reached.push(name);
    const now = planned?.step === name ? planned : undefined;
    if (now === undefined) return call();
    planned = undefined;
    if (now.when === 'throws') throw new Error('a step that throws');
    return interrupted(now, call);
  };

  function wrapMember(name: string, member: unknown, owner: object): unknown {
    if (typeof member !== 'function') return member;
    return (...args: readonly unknown[]): unknown =>
      step(name, (): unknown => Reflect.apply(member, owner, args));
  }

  return {
    plan(interruption) {
      planned = interruption;
      reached = [];
    },
    get reached() {
      return reached;
    },
    step,
    wrap(parts) {
      const steps = new Set(stepsOf(parts));
      const within = (name: string, part: object): object =>
        new Proxy(part, {
          get: (target, key): unknown => {
            const full = `${name}.${String(key)}`;
            const member: unknown = Reflect.get(target, key);
            return steps.has(full) ? wrapMember(full, member, target) : member;
          },
        });
      return new Proxy(parts, {
        get: (target, key): unknown => {
          const part: unknown = Reflect.get(target, key);
          const name = String(key);
          if (steps.has(name)) return wrapMember(name, part, target);
          return isObject(part) && !NO_STEPS.has(name) ? within(name, part) : part;
        },
      });
    },
  };
}

export interface CountingClock extends Clock {
  /** Timers that were neither cancelled nor have fired. */
  readonly open: number;
  /** Fires the timers of this length now. False: there is none. */
  fire(delayMs: number): boolean;
}

export function createCountingClock(base: Clock): CountingClock {
  const timers = new Set<{ readonly delayMs: number; readonly fire: () => void }>();
  return {
    now: () => base.now(),
    monotonic: () => base.monotonic(),
    setTimer(fire, delayMs) {
      const entry = {
        delayMs,
        fire: () => {
          if (timers.delete(entry)) fire();
        },
      };
      timers.add(entry);
      const timer: Timer = base.setTimer(entry.fire, delayMs);
      return {
        cancel() {
          timers.delete(entry);
          timer.cancel();
        },
      };
    },
    get open() {
      return timers.size;
    },
    fire(delayMs) {
      const due = [...timers].filter((timer) => timer.delayMs === delayMs);
      for (const timer of due) timer.fire();
      return due.length > 0;
    },
  };
}
