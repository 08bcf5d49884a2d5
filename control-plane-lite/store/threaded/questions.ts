/** Questions to the thread, and who waits for the answers. */
import { createTransientMap } from '#api/kit/transient.ts';
import { type RangeResult, type StoredItem, StoreError } from '../contract.ts';
import { fromPlainError } from '../plain-error.ts';
import { type RecordReader, readItem } from '../records.ts';
import type { Answer, Request, WatchRequest } from './protocol.ts';

type Ask = Exclude<Request, WatchRequest>;
/** A question before it has its number. */
type Question = Ask extends infer R ? (R extends Ask ? Omit<R, 'id'> : never) : never;

export interface Questions {
  readonly currentRevision: () => Promise<number>;
  readonly get: (key: string) => Promise<StoredItem | undefined>;
  readonly range: (question: Extract<Question, { kind: 'range' }>) => Promise<RangeResult>;
  readonly run: (question: Extract<Question, { kind: 'compact' | 'close' }>) => Promise<void>;
  /** What has no answer. */
  readonly tell: (request: WatchRequest) => void;
  /** Everything that wasn't sent yet, to be sent. */
  readonly take: () => readonly Request[];
  readonly onAnswer: (answer: Answer, reader: RecordReader) => void;
  readonly failAll: (error: StoreError) => void;
}

interface Asker {
  readonly onAnswer: (answer: Answer, reader: RecordReader) => void;
  readonly reject: (error: StoreError) => void;
}

export function createQuestions(): Questions {
  const askers = createTransientMap<number, Asker>();
  let waiting: Request[] = [];
  let last = 0;

  /** @param read what the answer says; undefined if it goes on in another one */
  function ask<T>(
    question: Question,
    read: (answer: Answer, reader: RecordReader) => { readonly value: T } | undefined,
  ): Promise<T> {
    last += 1;
    const id = last;
    waiting.push({ ...question, id });
    return new Promise((resolve, reject) => {
      askers.set(id, {
        onAnswer(answer, reader) {
          const result = read(answer, reader);
          if (result === undefined) return;
          askers.delete(id);
          resolve(result.value);
        },
        reject,
      });
    });
  }

  return {
    currentRevision: () =>
      ask({ kind: 'currentRevision' }, (answer) => ({ value: answerOf(answer, 'revision').revision })),
    get: (key) =>
      ask({ kind: 'get', key }, (answer, reader) => ({
        value: answerOf(answer, 'items').count === 0 ? undefined : readItem(reader),
      })),
    range(question) {
      const items: StoredItem[] = [];
      return ask(question, (answer, reader) => {
        const { count, revision, more, isLast } = answerOf(answer, 'items');
        for (let i = 0; i < count; i += 1) {
          const item = readItem(reader);
          if (item !== undefined) items.push(item);
        }
        return isLast ? { value: { revision, items, more } } : undefined;
      });
    },
    run: (question) =>
      ask(question, (answer) => {
        answerOf(answer, 'done');
        return { value: undefined };
      }),
    tell: (request) => void waiting.push(request),
    take() {
      const taken = waiting;
      waiting = [];
      return taken;
    },
    onAnswer(answer, reader) {
      const asker = askers.get(answer.id);
      if (answer.kind !== 'failed') return asker?.onAnswer(answer, reader);
      askers.delete(answer.id);
      asker?.reject(fromPlainError(answer.error));
    },
    failAll(error) {
      const all = [...askers.values()];
      askers.clear();
      waiting = [];
      for (const { reject } of all) reject(error);
    },
  };
}

function answerOf<K extends Answer['kind']>(answer: Answer, kind: K): Extract<Answer, { kind: K }> {
  if (isOf(answer, kind)) return answer;
  throw new StoreError('unavailable', `the store's thread gave an answer of kind ${answer.kind}`);
}

function isOf<K extends Answer['kind']>(answer: Answer, kind: K): answer is Extract<Answer, { kind: K }> {
  return answer.kind === kind;
}
