/** Reads YAML without holding up others: a small text in steps between the turns of the event loop, a large one on a
 *  thread of its own, because the library that reads YAML is slow and does the last part in one piece. The thread is
 *  there only while it is used. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { parseJsonText } from '#api/codec/json-text.ts';
import { SyntaxFault } from '#api/codec/limits.ts';
import type { YamlDocument } from '#api/codec/yaml.ts';
import { type Clock, systemClock, type Timer } from '#api/kit/clock.ts';
import { firstDocument } from './first-document.ts';

export interface YamlReader {
  /** The first document that has content.
   *  @throws SyntaxFault, also for a text that takes too long to read */
  read(body: Buffer): Promise<YamlDocument | undefined>;
}

export interface YamlReaderOptions {
  /** Larger texts go to the thread; 4 KiB unless given. */
  readonly threadBytes?: number;
  /** Longest time for one text there; 10 s unless given. */
  readonly longestMs?: number;
  /** Without work for so long the thread ends; 10 s unless given. */
  readonly idleMs?: number;
  readonly clock?: Clock;
}

/** What the thread says to a text. */
export type YamlAnswer =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'document'; readonly document: Omit<YamlDocument, 'value'>; readonly json?: string }
  | { readonly kind: 'fault'; readonly message: string; readonly line: number; readonly column: number };

/** Work between two turns of the event loop. */
const TURN_MS = 5;
const THREAD_HEAP_MIB = 512;

async function readHere(body: Buffer): Promise<YamlDocument | undefined> {
  let turnStart = performance.now();
  for (const document of firstDocument(body.toString('utf8'))) {
    if (document !== undefined) return document;
    if (performance.now() - turnStart < TURN_MS) continue;
    await nextTurn();
    turnStart = performance.now();
  }
  return undefined;
}

function documentOf(answer: YamlAnswer): YamlDocument | undefined {
  switch (answer.kind) {
    case 'nothing':
      return undefined;
    case 'fault':
      throw new SyntaxFault(answer.message, answer.line, answer.column);
    case 'document':
      return answer.json === undefined
        ? answer.document
        : { ...answer.document, value: parseJsonText(answer.json) };
    default:
      return answer satisfies never;
  }
}

/** Sources run as they are; a bundle has the thread's program as a file beside it. */
const programOf = (url: string): URL =>
  new URL(url.endsWith('.ts') ? './yaml-worker.ts' : './yaml-worker.js', url);

const isTooLarge = (error: Error): boolean => 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
const tooMuch = (cause: Error): Error => new SyntaxFault('takes too much memory to read', 1, 1, cause);

interface Task {
  readonly body: Buffer;
  readonly resolve: (answer: YamlAnswer) => void;
  readonly reject: (error: Error) => void;
}

export function createYamlReader(options: YamlReaderOptions = {}): YamlReader {
  const { threadBytes = 4096, longestMs = 10_000, idleMs = 10_000, clock = systemClock } = options;
  const waiting: Task[] = [];
  let worker: Worker | undefined;
  let current: Task | undefined;
  let timer: Timer | undefined;

  function end(fault?: Error): void {
    const ended = worker;
    worker = undefined;
    timer?.cancel();
    void ended?.terminate();
    const task = current;
    current = undefined;
    if (task === undefined) return;
    task.reject(fault ?? new Error('the thread that reads YAML ended'));
    next();
  }

  function start(): Worker {
    const started = new Worker(programOf(import.meta.url), {
      name: 'yaml',
      // The program's own options may be about its main file, such as `--eval`.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB },
    });
    // Nobody waits for the thread alone.
    started.unref();
    const isOurs = (act: () => void): void => void (worker === started && act());
    started.on('message', (answer: YamlAnswer) => isOurs(() => settle(answer)));
    started.on('error', (error: Error) => isOurs(() => end(isTooLarge(error) ? tooMuch(error) : error)));
    started.on('exit', () => isOurs(() => end()));
    return started;
  }

  function settle(answer: YamlAnswer): void {
    timer?.cancel();
    const task = current;
    current = undefined;
    task?.resolve(answer);
    next();
  }

  function next(): void {
    if (current !== undefined) return;
    current = waiting.shift();
    if (current === undefined) {
      timer = clock.setTimer(() => end(), idleMs);
      return;
    }
    timer?.cancel();
    worker ??= start();
    worker.postMessage(current.body, []);
    timer = clock.setTimer(() => end(new SyntaxFault('takes too long to read', 1, 1)), longestMs);
  }

  return {
    async read(body) {
      if (body.length <= threadBytes) return readHere(body);
      const answer = await new Promise<YamlAnswer>((resolve, reject) => {
        waiting.push({ body, resolve, reject });
        next();
      });
      return documentOf(answer);
    },
  };
}
