/** Networks of pods from plugins: calls them in the order of their configuration, and in reverse to release. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asError, hasCode } from '#api/kit/errno.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import { CNI_POD_ARGUMENT_PREFIX } from '#api/vocabulary.ts';
import { callPlugin, type PluginCall, type PluginDeps } from './plugin-call.ts';
import type { PluginNetwork } from './plugin-config.ts';
import type { PodNetworks, PodNetworkTarget } from './pod-networks.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export interface PluginNetworksOptions extends PluginDeps {
  /** Directory of the results of plugins, which they need to release a network. */
  readonly cacheDir: string;
  /** Returns the present configuration. @throws NetworkConfigError */
  readonly readNetwork: () => Promise<PluginNetwork>;
  readonly setPodCidr: (cidr: string) => void;
}

interface CachedNetwork {
  readonly network: PluginNetwork;
  readonly result: JsonObject;
}

/** Arguments by which plugins find the pod. Values come from names of objects. */
function argumentsOf({ id, config }: PodNetworkTarget): string {
  const { name = '', namespace = '' } = config.metadata ?? {};
  const clean = (text: string): string => text.replaceAll(/[;=]/g, '');
  const pairs = [
    ['IgnoreUnknown', '1'],
    [`${CNI_POD_ARGUMENT_PREFIX}NAMESPACE`, clean(namespace)],
    [`${CNI_POD_ARGUMENT_PREFIX}NAME`, clean(name)],
    [`${CNI_POD_ARGUMENT_PREFIX}INFRA_CONTAINER_ID`, id],
  ];
  return pairs.map((pair) => pair.join('=')).join(';');
}

/** Values for the capabilities that a plugin declares. */
function runtimeConfig(plugin: JsonObject, { config }: PodNetworkTarget): JsonObject {
  const capabilities = isObject(plugin['capabilities']) ? plugin['capabilities'] : {};
  const { servers = [], searches = [], options = [] } = config.dnsConfig ?? {};
  const offered: JsonObject = {
    portMappings: config.portMappings
      .filter(({ hostPort }) => hostPort > 0)
      .map(({ hostPort, containerPort, protocol, hostIp }) => ({
        hostPort,
        containerPort,
        protocol: protocol.toLowerCase(),
        ...(hostIp === '' ? {} : { hostIP: hostIp }),
      })),
    dns: { servers, searches, options },
  };
  return Object.fromEntries(Object.entries(offered).filter(([name]) => capabilities[name] === true));
}

/** Returns the input of one plugin. Pure. */
export function pluginInput(
  { name, cniVersion }: PluginNetwork,
  plugin: JsonObject,
  target: PodNetworkTarget,
  previous: JsonObject | undefined,
): JsonObject {
  const runtime = runtimeConfig(plugin, target);
  return {
    ...plugin,
    name,
    cniVersion,
    ...(Object.keys(runtime).length === 0 ? {} : { runtimeConfig: runtime }),
    ...(previous === undefined ? {} : { prevResult: previous }),
  };
}

/** Returns the addresses of a result, without their prefix lengths. Pure. */
export function addressesIn(result: JsonObject): readonly string[] {
  const listed: unknown = result['ips'];
  const found = Array.isArray(listed) ? listed.filter(isObject).map(({ address }) => textOf(address)) : [];
  // The form of versions before 0.3.
  const old = ['ip4', 'ip6'].map((key) => (isObject(result[key]) ? textOf(result[key]['ip']) : ''));
  return [...found, ...old].map((text) => text.split('/', 1)[0] ?? '').filter((text) => text !== '');
}

export function pluginNetworks(options: PluginNetworksOptions): PodNetworks {
  const { cacheDir, readNetwork } = options;
  const cachePath = (id: string): string => join(cacheDir, 'results', `${id}.json`);

  async function writeCache(id: string, cached: CachedNetwork): Promise<void> {
    await mkdir(join(cacheDir, 'results'), { recursive: true, mode: 0o700 });
    await writeFile(cachePath(id), JSON.stringify(cached), { mode: 0o600, flush: true });
  }

  async function readCache(id: string): Promise<CachedNetwork | undefined> {
    let text: string;
    try {
      text = await readFile(cachePath(id), 'utf8');
    } catch (thrown) {
      if (hasCode(thrown, 'ENOENT')) return undefined;
      throw thrown;
    }
    return parseCache(text);
  }

  function call(
    command: PluginCall['command'],
    network: PluginNetwork,
    plugin: JsonObject,
    target: PodNetworkTarget,
    previous: JsonObject | undefined,
  ): Promise<JsonObject> {
    return callPlugin(options, {
      command,
      type: textOf(plugin['type']),
      containerId: target.id,
      namespace: target.namespace,
      args: argumentsOf(target),
      config: pluginInput(network, plugin, target, previous),
    });
  }

  return {
    usesPlugins: true,
    async setUp(target) {
      const network = await readNetwork();
      // Written first: after a crash the network is released even if plugins were called only in part.
      await writeCache(target.id, { network, result: {} });
      let result: JsonObject | undefined;
      for (const plugin of network.plugins) result = await call('ADD', network, plugin, target, result);
      const complete = { ...result, cniVersion: network.cniVersion };
      await writeCache(target.id, { network, result: complete });
      return addressesIn(complete);
    },
    async tearDown(target) {
      const cached = await readCache(target.id);
      if (cached === undefined) return;
      const { network, result } = cached;
      const previous = Object.keys(result).length === 0 ? undefined : result;
      for (const plugin of network.plugins.toReversed()) await call('DEL', network, plugin, target, previous);
      await rm(cachePath(target.id), { force: true });
    },
    async problem() {
      try {
        await readNetwork();
        return undefined;
      } catch (thrown) {
        return asError(thrown).message;
      }
    },
    setPodCidr: options.setPodCidr,
  };
}

function parseCache(text: string): CachedNetwork | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || !isObject(value['network'])) return undefined;
  const { plugins, name, cniVersion } = value['network'];
  if (!Array.isArray(plugins)) return undefined;
  return {
    network: { name: textOf(name), cniVersion: textOf(cniVersion), plugins: plugins.filter(isObject) },
    result: isObject(value['result']) ? value['result'] : {},
  };
}
