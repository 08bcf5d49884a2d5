/** YAML reader that does not block the event loop: parses a small text in steps between turns, a large one on
 *  a thread of its own, because the YAML library is slow and does its last part in one piece. The thread
 *  exists only while it is used. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { parseJsonInTurns } from '#api/codec/json-slices.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { TextSyntaxError } from '#api/codec/limits.ts';
import type { YamlDocument } from '#api/codec/yaml.ts';
import { type Clock, systemClock, type Timer } from '#api/kit/clock.ts';
import { hasCode } from '#api/kit/errno.ts';
import { LARGE_BYTES } from '../kit/yield.ts';
import { firstDocument } from './first-document.ts';

/** Text for people. */
export type TextForm = 'yaml' | 'pretty';

/** Writes large JSON texts in other forms. */
export interface TextWriter {
  /** `indent`: before every line but the first. */
  write(json: Buffer, form: TextForm, indent?: string): Promise<Buffer>;
}

export interface YamlReader extends TextWriter {
  /** The first document that has content.
   *  @throws TextSyntaxError, also for a text that takes too long to read */
  read(body: Buffer): Promise<YamlDocument | undefined>;
}

export interface YamlReaderOptions {
  /** Larger texts go to the thread, in bytes; 4 KiB unless given. */
  readonly threadBytes?: number;
  /** Timeout for one text in the thread, in ms; 10 s unless given. */
  readonly longestMs?: number;
  /** Idle time after which the thread ends, in ms; 10 s unless given. */
  readonly idleMs?: number;
  readonly clock?: Clock;
}

/** The thread's reply to a text. */
export type TextTask =
  | { readonly kind: 'read'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'write';
      readonly bytes: Uint8Array;
      readonly form: TextForm;
      readonly indent: string;
    };

/** Response of the thread to a document. */
export type YamlReply =
  | { readonly kind: 'written'; readonly bytes: Uint8Array }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'document'; readonly document: Omit<YamlDocument, 'value'>; readonly json?: string }
  | { readonly kind: 'error'; readonly message: string; readonly line: number; readonly column: number };

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

/** The converted text may be longer than the original. */
const ANY_LENGTH = { maxBytes: Number.POSITIVE_INFINITY };

async function documentOf(reply: YamlReply): Promise<YamlDocument | undefined> {
  switch (reply.kind) {
    case 'written':
      throw new Error('the thread wrote a text instead of reading it');
    case 'nothing':
      return undefined;
    case 'error':
      throw new TextSyntaxError(reply.message, reply.line, reply.column);
    case 'document':
      return reply.json === undefined
        ? reply.document
        : { ...reply.document, value: await valueOf(reply.json) };
    default:
      return reply satisfies never;
  }
}

const valueOf = async (json: string): Promise<unknown> =>
  json.length < LARGE_BYTES
    ? parseJsonText(json)
    : (await parseJsonInTurns(Buffer.from(json), () => nextTurn(), ANY_LENGTH)).value;

/** Sources run as they are; a bundle has the thread's program as a file beside it. */
const programOf = (url: string): URL =>
  new URL(url.endsWith('.ts') ? './yaml-worker.ts' : './yaml-worker.js', url);

const isTooLarge = (error: Error): boolean => hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY');
const tooMuch = (cause: Error): Error => new TextSyntaxError('takes too much memory to read', 1, 1, cause);

interface Task {
  readonly task: TextTask;
  readonly resolve: (respond: YamlReply) => void;
  readonly reject: (error: Error) => void;
}

export function createYamlReader(options: YamlReaderOptions = {}): YamlReader {
  const { threadBytes = 4096, longestMs = 10_000, idleMs = 10_000, clock = systemClock } = options;
  const waiting: Task[] = [];
  let worker: Worker | undefined;
  let current: Task | undefined;
  let timer: Timer | undefined;

  function end(fieldError?: Error): void {
    const ended = worker;
    worker = undefined;
    timer?.cancel();
    void ended?.terminate();
    const task = current;
    current = undefined;
    if (task === undefined) return;
    task.reject(fieldError ?? new Error('the YAML reader thread exited'));
    next();
  }

  function start(): Worker {
    const started = new Worker(programOf(import.meta.url), {
      name: 'yaml',
      // The program's own options may concern its main file, such as `--eval`.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB },
    });
    // The thread alone does not keep the process alive.
    started.unref();
    const isOurs = (act: () => void): void => void (worker === started && act());
    started.on('message', (reply: YamlReply) => isOurs(() => settle(reply)));
    started.on('error', (error: Error) => isOurs(() => end(isTooLarge(error) ? tooMuch(error) : error)));
    started.on('exit', () => isOurs(() => end()));
    return started;
  }

  function settle(reply: YamlReply): void {
    timer?.cancel();
    const task = current;
    current = undefined;
    task?.resolve(reply);
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
    worker.postMessage(current.task, []);
    timer = clock.setTimer(() => end(new TextSyntaxError('takes too long to read', 1, 1)), longestMs);
  }

  const answerTo = (task: TextTask): Promise<YamlReply> =>
    new Promise((resolve, reject) => {
      waiting.push({ task, resolve, reject });
      next();
    });

  return {
    async read(body) {
      if (body.length <= threadBytes) return readHere(body);
      return documentOf(await answerTo({ kind: 'read', bytes: body }));
    },
    async write(json, form, indent = '') {
      const respond = await answerTo({ kind: 'write', bytes: json, form, indent });
      if (respond.kind !== 'written') throw new Error('a text was to be written, not read');
      const { buffer, byteOffset, byteLength } = respond.bytes;
      return Buffer.from(buffer, byteOffset, byteLength);
    },
  };
}
