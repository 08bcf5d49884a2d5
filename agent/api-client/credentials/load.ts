/** Loads a client configuration file and resolves it to the parameters of a connection. */
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ClientConfigError, formatClientConfigError } from '#api/client-config/error.ts';
import { MAX_CLIENT_CONFIG_BYTES, parseClientConfig } from '#api/client-config/parse.ts';
import {
  type ResolvedClientConfig,
  type ResolveOptions,
  resolveClientConfig,
} from '#api/client-config/resolve.ts';
import { asError } from '#api/kit/errno.ts';
import { readLimited, TooLargeError } from '../read-limited.ts';

export interface LoadedClientConfig {
  readonly config: ResolvedClientConfig;
  /** Warnings for the user: unused fields. */
  readonly warnings: readonly string[];
}

/** Reads a file within the size limit of configurations and credentials.
 *  @throws TooLargeError; the system error if it cannot be read */
export async function readSmallFile(path: string): Promise<string> {
  await using handle = await open(path, 'r');
  const stream = handle.createReadStream({ autoClose: false });
  return (await readLimited(stream, MAX_CLIENT_CONFIG_BYTES)).toString('utf8');
}

function describeReadError(thrown: unknown): string {
  if (thrown instanceof TooLargeError) return `must not have more than ${MAX_CLIENT_CONFIG_BYTES} bytes`;
  return `the file must be readable: ${asError(thrown).message}`;
}

/** @throws ClientConfigError with every error of the file, or of the entries in use */
export async function loadClientConfig(
  path: string,
  options: ResolveOptions = {},
): Promise<LoadedClientConfig> {
  const file = resolve(path);
  let text: string;
  try {
    text = await readSmallFile(file);
  } catch (thrown) {
    const problem = { kind: 'FieldValueInvalid', field: '', detail: describeReadError(thrown) } as const;
    throw new ClientConfigError(file, [problem], thrown);
  }
  const parsed = parseClientConfig(text, file);
  if (parsed.kind === 'invalid') throw new ClientConfigError(file, parsed.errors);
  return {
    config: await resolveClientConfig(parsed.config, { readFile: readSmallFile }, options),
    warnings: parsed.warnings.map((problem) => formatClientConfigError(file, problem)),
  };
}
