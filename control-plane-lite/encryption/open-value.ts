/** Encrypts and decrypts values by the prefixes of their transformers. Long values are packed before they are encrypted,
 *  since nothing makes them shorter afterwards. */
import { Buffer } from 'node:buffer';
import { asError } from '#api/kit/errno.ts';
import { StoreError } from '../store/contract.ts';
import { pack, unpack } from '../store/packing/packed-value.ts';
import type { Chain, Eventual, Transformer } from './contract.ts';
import type { TransformationMetrics } from './metrics.ts';

/** A decrypted value and its origin. */
export interface OpenedValue {
  readonly value: Buffer;
  readonly origin: string;
}

export interface ValueDeps {
  /** First bytes of every encrypted value. */
  readonly mark: Buffer;
  readonly metrics: TransformationMetrics;
}

const startsWith = (value: Buffer, prefix: Buffer): boolean =>
  value.length >= prefix.length && value.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;

/** Whether the value has been encrypted, with any key. */
export const isEncrypted = ({ mark }: ValueDeps, stored: Buffer): boolean => startsWith(stored, mark);

/** The beginning of a value up to its key: safe to display. */
function shownPrefix(stored: Buffer): string {
  const parts = stored.toString('latin1', 0, 200).split(':', 5);
  return parts.length < 5 ? parts.slice(0, -1).join(':') : parts.join(':');
}

function toStoreError(thrown: unknown, key: string, done: string): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const cause = asError(thrown);
  return new StoreError('corrupt', `${key} could not be ${done}: ${cause.message}`, { cause });
}

function transformerOf(deps: ValueDeps, chain: Chain | undefined, stored: Buffer): Transformer | undefined {
  const encrypted = isEncrypted(deps, stored);
  return chain?.find(({ prefix }) =>
    prefix === '' ? !encrypted : encrypted && startsWith(stored, Buffer.from(prefix, 'utf8')),
  );
}

/** @throws StoreError `corrupt` if no transformer can decrypt the value, `unavailable` if one may do so later */
export function openValue(
  deps: ValueDeps,
  chain: Chain | undefined,
  key: string,
  stored: Buffer,
): Eventual<OpenedValue> {
  const transformer = transformerOf(deps, chain, stored);
  if (transformer === undefined) {
    deps.metrics.failed('from_storage', 'unknown');
    const found = isEncrypted(deps, stored) ? `encrypted with ${shownPrefix(stored)}` : 'not encrypted';
    throw new StoreError(
      'corrupt',
      `${key} is ${found}, and --encryption-provider-config has no provider that reads it`,
    );
  }
  const { prefix } = transformer;
  const stop = deps.metrics.begin('from_storage', prefix);
  const sealed = stored.subarray(Buffer.byteLength(prefix));
  const finish = (content: Buffer): OpenedValue => {
    const value = prefix === '' ? content : unpack(content);
    stop(true);
    return { value, origin: transformer.originOf(sealed) };
  };
  const fail = (thrown: unknown): never => {
    stop(false);
    throw toStoreError(thrown, key, 'decrypted');
  };
  try {
    const opened = transformer.open(sealed, Buffer.from(key));
    return opened instanceof Promise ? opened.then(finish).catch(fail) : finish(opened);
  } catch (thrown) {
    return fail(thrown);
  }
}

/** Encrypts with the first transformer. @throws StoreError `unavailable` */
export function sealValue(
  { metrics }: ValueDeps,
  [transformer]: Chain,
  key: string,
  value: Buffer,
): Eventual<Buffer> {
  const { prefix } = transformer;
  if (prefix === '') return value;
  const stop = metrics.begin('to_storage', prefix);
  const finish = (sealed: Buffer): Buffer => {
    stop(true);
    return Buffer.concat([Buffer.from(prefix), sealed]);
  };
  const fail = (thrown: unknown): never => {
    stop(false);
    throw toStoreError(thrown, key, 'encrypted');
  };
  const seal = (content: Buffer): Eventual<Buffer> => {
    const sealed = transformer.seal(content, Buffer.from(key));
    return sealed instanceof Promise ? sealed.then(finish) : finish(sealed);
  };
  try {
    const content = pack(value);
    const sealed = content instanceof Promise ? content.then(seal) : seal(content);
    return sealed instanceof Promise ? sealed.catch(fail) : sealed;
  } catch (thrown) {
    return fail(thrown);
  }
}
