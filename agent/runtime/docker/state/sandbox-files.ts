/** Files of sandboxes: their resolver configuration, and a checkpoint of what must be released after the sandbox
 *  is gone, even if docker has lost its container. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import type { DNSConfig, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { ConfigCodec } from '../config/messages.ts';

export interface SandboxCheckpoint {
  /** ID of the sandbox. */
  readonly id: string;
  readonly config: PodSandboxConfig;
  /** Addresses from the network plugins; empty before the network is set up. */
  readonly addresses: readonly string[];
}

export interface SandboxFiles {
  /** Returns the path of the resolver configuration. `key` is the name of the sandbox in docker. */
  writeResolver(key: string, dns: DNSConfig | undefined): Promise<string>;
  resolverPath(key: string): string;
  save(key: string, checkpoint: SandboxCheckpoint): Promise<void>;
  read(key: string): Promise<SandboxCheckpoint | undefined>;
  keys(): Promise<readonly string[]>;
  remove(key: string): Promise<void>;
}

const RESOLVER = 'resolv.conf';
const CHECKPOINT = 'checkpoint.json';
const HOST_RESOLVER = '/etc/resolv.conf';

/** Formats a resolver configuration, see resolv.conf(5). Pure. */
export function formatResolver({ servers, searches, options }: DNSConfig): string {
  return [
    ...servers.map((server) => `nameserver ${server}\n`),
    ...(searches.length === 0 ? [] : [`search ${searches.join(' ')}\n`]),
    ...(options.length === 0 ? [] : [`options ${options.join(' ')}\n`]),
  ].join('');
}

const isEmpty = ({ servers, searches, options }: DNSConfig): boolean =>
  servers.length + searches.length + options.length === 0;

async function hostResolver(): Promise<string> {
  return readFile(HOST_RESOLVER, 'utf8').catch((thrown: unknown) => {
    if (hasCode(thrown, 'ENOENT')) return '';
    throw thrown;
  });
}

function parseCheckpoint(codec: ConfigCodec, text: string): SandboxCheckpoint | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const config = codec.decodeSandbox(textOf(value['config']));
  const { addresses } = value;
  if (config === undefined) return undefined;
  return {
    id: textOf(value['id']),
    config,
    addresses: Array.isArray(addresses) ? addresses.filter((one) => typeof one === 'string') : [],
  };
}

/** @param dir persistent directory of the node */
export function createSandboxFiles(dir: string, codec: ConfigCodec): SandboxFiles {
  const at = (key: string, file = ''): string => join(dir, key, file);
  return {
    async writeResolver(key, dns) {
      await mkdir(at(key), { recursive: true, mode: 0o755 });
      const text = dns === undefined || isEmpty(dns) ? await hostResolver() : formatResolver(dns);
      const path = at(key, RESOLVER);
      await writeFile(path, text, { mode: 0o644 });
      return path;
    },
    resolverPath: (key) => at(key, RESOLVER),
    async save(key, { id, config, addresses }) {
      const text = JSON.stringify({ id, config: codec.encodeSandbox(config), addresses });
      const path = at(key, CHECKPOINT);
      await writeFile(`${path}.tmp`, text, { mode: 0o600, flush: true });
      await rename(`${path}.tmp`, path);
    },
    async read(key) {
      try {
        return parseCheckpoint(codec, await readFile(at(key, CHECKPOINT), 'utf8'));
      } catch (thrown) {
        if (hasCode(thrown, 'ENOENT', 'ENOTDIR')) return undefined;
        throw thrown;
      }
    },
    keys: async () => readdir(dir).catch(() => []),
    remove: (key) => rm(at(key), { recursive: true, force: true }),
  };
}
