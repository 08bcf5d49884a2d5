/** A client configuration file from disk to what a connection needs. */
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ClientConfigError, formatClientConfigFault } from '#api/client-config/error.ts';
import { MAX_CLIENT_CONFIG_BYTES, parseClientConfig } from '#api/client-config/parse.ts';
import {
  type ResolvedClientConfig,
  type ResolveOptions,
  resolveClientConfig,
} from '#api/client-config/resolve.ts';
import { asError } from '#api/kit/clock.ts';
import { readLimited, TooLargeError } from './read-limited.ts';

export interface LoadedClientConfig {
  readonly config: ResolvedClientConfig;
  /** Lines for people: fields that are not used. */
  readonly warnings: readonly string[];
}

/** The text of a file of a size that configurations and credentials have.
 *  @throws TooLargeError; the system's error where it cannot be read */
export async function readSmallFile(path: string): Promise<string> {
  await using handle = await open(path, 'r');
  const stream = handle.createReadStream({ autoClose: false });
  return (await readLimited(stream, MAX_CLIENT_CONFIG_BYTES)).toString('utf8');
}

function readFault(thrown: unknown): string {
  if (thrown instanceof TooLargeError) return `must not have more than ${MAX_CLIENT_CONFIG_BYTES} bytes`;
  return `the file must be readable: ${asError(thrown).message}`;
}

/** @throws ClientConfigError with every fault of the file, or of the entries that are used */
export async function loadClientConfig(
  path: string,
  options: ResolveOptions = {},
): Promise<LoadedClientConfig> {
  const file = resolve(path);
  let text: string;
  try {
    text = await readSmallFile(file);
  } catch (thrown) {
    const fault = { kind: 'FieldValueInvalid', field: '', detail: readFault(thrown) } as const;
    throw new ClientConfigError(file, [fault], thrown);
  }
  const parsed = parseClientConfig(text, file);
  if (parsed.kind === 'invalid') throw new ClientConfigError(file, parsed.errors);
  return {
    config: await resolveClientConfig(parsed.config, { readFile: readSmallFile }, options),
    warnings: parsed.warnings.map((fault) => formatClientConfigFault(file, fault)),
  };
}
