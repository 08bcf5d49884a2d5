/** `nodeagent cri-docker`: serves docker to clients of CRI, with the agent's flags for docker. */
import { readFile } from 'node:fs/promises';
import type { Command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { type HelpFacts, renderHelp } from '../help.ts';

const HELP: HelpFacts = {
  name: 'cri-docker',
  summary:
    'Serves docker as a container runtime to any client of CRI, until it is interrupted. Flags of the agent that apply:\n' +
    '  --root-dir, --hostname-override, --docker-endpoint, --pod-infra-container-image, --image-pull-progress-deadline,\n' +
    '  --network-plugin, --network-plugin-mtu, --pod-cidr, --cni-bin-dir, --cni-conf-dir, --cni-cache-dir and those of\n' +
    '  logs. Containers of another root directory are not touched.',
  usage: ['--socket=PATH [FLAGS OF THE AGENT…]'],
  options: {
    socket: { type: 'string', value: 'PATH', help: 'socket on which it serves' },
    help: { type: 'boolean', short: 'h', help: 'show this help' },
  },
  examples: [],
};
const SOCKET = /^--socket=(.+)$/;

export const command: Command = {
  name: 'cri-docker',
  help: HELP,
  async run(argv, { out, err, cwd, clock, signal }) {
    if (argv.includes('--help') || argv.includes('-h')) {
      await out.write(renderHelp(HELP));
      return 0;
    }
    const socket = argv.map((word) => SOCKET.exec(word)?.[1]).find((path) => path !== undefined);
    if (socket === undefined) throw new UsageError('--socket=PATH: required value missing');
    const flags = argv.filter((word) => !SOCKET.test(word));
    const [{ loadConfig }, { formatConfigError }] = await Promise.all([
      import('../../config/load.ts'),
      import('../../config/errors.ts'),
    ]);
    const loaded = await loadConfig(['--container-runtime=docker', ...flags], { readFile, cwd });
    if (loaded.kind === 'error') {
      for (const error of loaded.errors) await err.write(`nodeagent: ${formatConfigError(error)}\n`);
      return 1;
    }
    if (loaded.kind !== 'ok') throw new UsageError('--version: not a flag of this command');
    const [{ createAgentLog }, { instanceId, nodeName }, { openDocker }, { serveDocker }] = await Promise.all(
      [
        import('../../node/log/agent-log.ts'),
        import('../../node/node-facts.ts'),
        import('../../runtime/docker/open.ts'),
        import('../../runtime/docker/serve.ts'),
      ],
    );
    const { config } = loaded;
    const log = createAgentLog(config, { node: nodeName(config.hostnameOverride) });
    const runtime = await openDocker({ clock, log, node: await instanceId(config.rootDir) }, config);
    await serveDocker(runtime, { log, socket }, signal);
    return 0;
  },
};
