/** Network configurations for plugins. Source: the CNI specification, version 1.0, network configuration format. */
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { isObject, textOf } from '#api/kit/object.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export interface PluginNetwork {
  readonly name: string;
  readonly cniVersion: string;
  /** In the order in which they are called. */
  readonly plugins: readonly JsonObject[];
}

/** A configuration that cannot be used. */
export class NetworkConfigError extends Error {
  override readonly name = 'NetworkConfigError';
}

const CONFIG_FILE = /\.(?:conf|conflist|json)$/;
const LARGEST_CONFIG = 1024 * 1024;
const PLUGIN_TYPE = /^[\w.-]+$/;
const DEFAULT_VERSION = '0.2.0';

function parseJson(path: string, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new NetworkConfigError(`${path}: not JSON`);
  }
  if (isObject(value)) return value;
  throw new NetworkConfigError(`${path}: must be an object`);
}

/** Parses a list of plugins, or the older form with one plugin. Pure. @throws NetworkConfigError */
export function parseNetwork(path: string, text: string): PluginNetwork {
  const config = parseJson(path, text);
  const name = textOf(config['name']);
  if (!/^[\w.-]{1,253}$/.test(name)) throw new NetworkConfigError(`${path}: name: must be a name of a file`);
  const listed: unknown = config['plugins'];
  const plugins = Array.isArray(listed) ? listed.filter(isObject) : [config];
  if (plugins.length === 0) throw new NetworkConfigError(`${path}: plugins: at least one is required`);
  const wrong = plugins.findIndex(({ type }) => !PLUGIN_TYPE.test(textOf(type)));
  if (wrong >= 0)
    throw new NetworkConfigError(`${path}: plugins[${wrong}].type: must be the name of a plugin`);
  return { name, cniVersion: textOf(config['cniVersion']) || DEFAULT_VERSION, plugins };
}

/** Reads the first configuration of a directory by name. @throws NetworkConfigError if there is none */
export async function readNetwork(dir: string): Promise<PluginNetwork> {
  const names = await readdir(dir).catch((thrown: unknown): string[] => {
    if (hasCode(thrown, 'ENOENT')) return [];
    throw thrown;
  });
  const [first] = names.filter((name) => CONFIG_FILE.test(name)).sort();
  if (first === undefined) throw new NetworkConfigError(`${dir}: contains no network configuration`);
  const path = join(dir, first);
  await using file = await open(path, 'r');
  if ((await file.stat()).size > LARGEST_CONFIG)
    throw new NetworkConfigError(`${path}: larger than ${LARGEST_CONFIG} bytes`);
  return parseNetwork(path, await file.readFile('utf8'));
}

/** Returns the configuration of `--network-plugin=kubenet`: a bridge with addresses of the pod CIDR. Pure. */
export function bridgeNetwork(podCidr: string, mtu: number): PluginNetwork {
  const bridge = {
    type: 'bridge',
    bridge: 'cbr0',
    isGateway: true,
    ipMasq: true,
    // Pods reach themselves through their services.
    promiscMode: true,
    ...(mtu > 0 ? { mtu } : {}),
    ipam: { type: 'host-local', ranges: [[{ subnet: podCidr }]], routes: [{ dst: '0.0.0.0/0' }] },
  };
  return {
    name: 'kubenet',
    cniVersion: '0.4.0',
    plugins: [bridge, { type: 'portmap', capabilities: { portMappings: true } }],
  };
}
