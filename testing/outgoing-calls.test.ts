/** Every place that calls another program, found in the sources: what it waits for is shown when it lasts, or the list
 *  says why that is not needed. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const ROOMS = ['agent', 'api-machinery', 'control-plane-lite', 'cri-proto', 'eviction', 'volumes'];

/** Functions of a module that open connections, unlike its types and servers. */
const CALLERS: Readonly<Record<string, RegExp>> = {
  'node:http': /\b(?:request|get)\b/,
  'node:https': /\b(?:request|get)\b/,
  'node:http2': /\bconnect\b/,
  'node:net': /\b(?:connect|createConnection)\b/,
  'node:tls': /\bconnect\b/,
  'node:dgram': /\bcreateSocket\b/,
  'node:dns': /\b(?:lookup|resolve\w*)\b/,
  'node:dns/promises': /\b(?:lookup|resolve\w*)\b/,
  'node:child_process': /\b(?:spawn|exec|execFile|fork|spawnSync|execSync|execFileSync)\b/,
  undici: /\b(?:request|fetch|stream|pipeline|connect|upgrade|Client|Pool|Agent)\b/,
  ws: /\bWebSocket\b/,
  '@grpc/grpc-js': /\bClient\b/,
};

/** Names that are imported as values, without those that are types. */
const valuesOf = (names: string): string =>
  names
    .replaceAll(/[{}]/g, ',')
    .split(',')
    .filter((name) => !name.trim().startsWith('type '))
    .join(',');

export function callsOut(text: string): boolean {
  const imports = text.matchAll(/(?:^|\n)import (?!type )([^;]*?) from '([^']+)'/g);
  for (const [, names = '', module = ''] of imports) {
    if (CALLERS[module]?.test(valuesOf(names)) === true) return true;
  }
  // Without a list of names: all of the module.
  const lazy = text.matchAll(/(?:const \{([^}]*)\} = await )?import\('([^']+)'\)/g);
  for (const [, names, module = ''] of lazy) {
    const callers = CALLERS[module];
    if (callers !== undefined && (names === undefined || callers.test(names))) return true;
  }
  return /await fetch\((?!name\))|new WebSocket\(/.test(text);
}

/** `shownBy`: the file that registers the wait. `why`: none is needed. */
type Entry = { readonly shownBy: string } | { readonly why: string };

const OF_COMMANDS = 'a command, whose user sees that it waits';
const OF_PROBES = 'a probe has a time limit of its own, and its failure is an event';
/** Mounts, with the plugins and programs that they need. */
const OF_VOLUMES = 'agent/pods/factory.ts';
const OF_CLIENTS = 'a client waits for the response, not this program';

const PLACES: Readonly<Record<string, Entry>> = {
  'control-plane-lite/agents/call-agent.ts': {
    why: 'a controller reports failures as events of its objects',
  },
  'agent/install/agent-unit.ts': { why: OF_COMMANDS },
  'api-machinery/kit/install/program.ts': { why: OF_COMMANDS },
  'api-machinery/kit/install/systemctl.ts': { why: OF_COMMANDS },
  'control-plane-lite/install/install.ts': { why: OF_COMMANDS },
  'control-plane-lite/resource-metrics/fetch-scrape.ts': {
    why: 'a scrape has a time limit of its own, and clients see nodes without metrics',
  },
  'agent/api-client/credentials/idp-client.ts': {
    shownBy: 'agent/api-client/credentials/create-credentials.ts',
  },
  'agent/api-client/credentials/run-exec-plugin.ts': {
    shownBy: 'agent/api-client/credentials/create-credentials.ts',
  },
  'agent/api-client/transport.ts': { shownBy: 'agent/api-client/server-contact.ts' },
  'agent/cli/client/api-client.ts': { why: OF_COMMANDS },
  'agent/cli/commands/edit.ts': { why: OF_COMMANDS },
  'agent/cli/manifests/fetch-url.ts': { why: OF_COMMANDS },
  'agent/cli/terminal.ts': { why: OF_COMMANDS },
  'agent/dbus/connection.ts': { why: 'calls of the bus end after a time of their own, and are logged' },
  'agent/demo/agent-process.ts': { why: OF_COMMANDS },
  'agent/images/run-plugin.ts': { shownBy: 'agent/images/credential-provider.ts' },
  'agent/node/lock/contention.ts': {
    why: 'nothing waits for it: another process may request the lock at any time',
  },
  'agent/node/lock/flock.ts': { why: 'the log says that the agent waits for the lock, before anything runs' },
  'agent/probes/grpc.ts': { why: OF_PROBES },
  'agent/probes/http-get.ts': { why: OF_PROBES },
  'agent/probes/tcp.ts': { why: OF_PROBES },
  'agent/machine/resolve-name.ts': { why: 'nothing waits for a name for more than two seconds' },
  'agent/runtime/connection-holder.ts': { why: 'the program waits for the agent, never the agent for it' },
  'agent/runtime/docker/network/plugin-call.ts': {
    why: 'a plugin is killed after a minute; only its pod waits',
  },
  'agent/runtime/lost-sandboxes.ts': { why: 'a socket of this machine takes or refuses at once' },
  'agent/runtime/managed/containerd.ts': { why: OF_COMMANDS },
  'agent/runtime/managed/ctr.ts': { why: OF_COMMANDS },
  'agent/runtime/managed/images.ts': { why: OF_COMMANDS },
  'agent/runtime/managed/purge.ts': { why: OF_COMMANDS },
  'agent/runtime/managed/socket-probe.ts': { why: OF_COMMANDS },
  'agent/server/node/pass-upgrade.ts': { why: OF_CLIENTS },
  'agent/shutdown/inhibitor.ts': { why: 'nothing waits for the lock: pods run without it' },
  'agent/sources/url/url-fetch.ts': { why: 'shown as a faulty source, with the reason' },
  'api-machinery/kit/sockets/unix-socket.ts': { why: 'a socket of this machine takes or refuses at once' },
  'control-plane-lite/aggregation/send-request.ts': {
    shownBy: 'control-plane-lite/aggregation/availability-controller.ts',
  },
  'control-plane-lite/authn/oidc/http-client.ts': {
    why: 'an unavailable identity provider is logged at each attempt, and other users are authenticated meanwhile',
  },
  'control-plane-lite/commands/admin-client.ts': { why: OF_COMMANDS },
  'control-plane-lite/encryption/kms/service.ts': { shownBy: 'control-plane-lite/store/call-waits.ts' },
  'control-plane-lite/endpoints/connect/dial-spdy.ts': { why: OF_CLIENTS },
  'control-plane-lite/endpoints/connect/log.ts': { why: OF_CLIENTS },
  'control-plane-lite/endpoints/connect/probe.ts': { shownBy: 'control-plane-lite/wiring/nodes.ts' },
  'control-plane-lite/http/proxy/proxy.ts': { shownBy: 'control-plane-lite/http/proxy/proxy.ts' },
  'control-plane-lite/store/etcd/servers.ts': { shownBy: 'control-plane-lite/store/call-waits.ts' },
  'control-plane-lite/webhooks/backend.ts': {
    shownBy: 'control-plane-lite/admission/image-policy/webhook-client.ts',
  },
  'control-plane-lite/webhooks/call.ts': { shownBy: 'control-plane-lite/webhooks/call.ts' },
  'control-plane-lite/wiring/nodes.ts': { why: OF_CLIENTS },
  'cri-proto/client/channel.ts': { shownBy: 'agent/runtime/call-waits.ts' },
  'cri-proto/streaming/upgrade.ts': { why: OF_CLIENTS },
  'cri-proto/streaming/websocket-command.ts': { why: OF_CLIENTS },
  'volumes/iscsi/target.ts': { shownBy: OF_VOLUMES },
  'volumes/network/rest.ts': { shownBy: OF_VOLUMES },
  'volumes/programs/run-program.ts': { shownBy: OF_VOLUMES },
  'volumes/storage-services/json-client.ts': { shownBy: OF_VOLUMES },
};

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => ROOMS.includes(path.split('/')[0] ?? '') && existsSync(join(ROOT, path)))
  .filter((path) => !/\.test\.ts$|\.fixture\.ts$|\/testing\/|\/fake\/|\/test-[^/]*\.ts$/.test(path));

const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('places that call out', () => {
  test('are found at all', () => {
    expect(callsOut("import { request } from 'node:http';")).toBe(true);
    expect(callsOut("import {\n  type Agent,\n  request as send,\n} from 'node:https';")).toBe(true);
    expect(callsOut("const { request } = await import('undici');")).toBe(true);
    expect(callsOut('await fetch(url)')).toBe(true);
    expect(
      callsOut("import { type ClientRequest } from 'node:http';\nimport { isIP } from 'node:net';"),
    ).toBe(false);
    expect(callsOut("import type { Agent } from 'undici';")).toBe(false);
  });

  test('stand in the list, and nothing else does', () => {
    const found = files.filter((path) => callsOut(readText(path)));
    expect(found.toSorted()).toEqual(Object.keys(PLACES).toSorted());
  });

  test.each(
    Object.entries(PLACES).flatMap(([path, entry]) => ('shownBy' in entry ? [[path, entry.shownBy]] : [])),
  )('%s is shown by %s', (_, shownBy) => {
    expect(readText(shownBy)).toMatch(/\bwaits\??\.(?:begin|during)\(/);
  });
});
