/** The demo's command line. */
import { parseArgs } from 'node:util';

export type DemoCommand =
  | { readonly kind: 'start'; readonly runtime: DemoRuntime; readonly detach: boolean }
  | { readonly kind: 'stop' }
  | { readonly kind: 'help' };

/** Selects the runtime for the pods. */
export type DemoRuntime =
  | { readonly kind: 'managed' }
  /** The first runtime of the machine that is found. */
  | { readonly kind: 'machine' }
  | { readonly kind: 'endpoint'; readonly endpoint: string }
  | { readonly kind: 'docker'; readonly endpoint: string };

/** An invalid argument. */
export class DemoUsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DemoUsageError';
  }
}

const DOCKER_SOCKET = 'unix:///var/run/docker.sock';

export const DEMO_HELP: string = `npm start -- [options]     runs the pods of examples/manifests on this machine

  --stop                   remove everything the demo created: pods, containers, containerd, mounts, directories
  --detach                 exit when the pods are running; the agent keeps running in the background
  --machine-runtime        use the runtime of the machine instead of a private containerd
  --container-runtime-endpoint=unix:///…
                           use the runtime of this CRI socket
  --container-runtime=docker
                           use the docker of the machine
  --docker-endpoint=unix:///…
                           socket of docker (default ${DOCKER_SOCKET})
  --help                   show this

NODEAGENT_DEMO_ROOT is the directory of all demo files (default /var/lib/nodeagent-demo).
The demo images are loaded into the private containerd or into docker, where they stay; another runtime must provide
local/busybox:1.
`;

/** @throws DemoUsageError */
export function parseDemoOptions(argv: readonly string[]): DemoCommand {
  const values = parse(argv);
  if (values.help === true) return { kind: 'help' };
  if (values.stop === true) {
    if (runtimeOptions.some((name) => values[name] !== undefined) || values.detach === true) {
      throw new DemoUsageError(
        '--stop cannot be combined with other options; the demo has recorded its runtime',
      );
    }
    return { kind: 'stop' };
  }
  return { kind: 'start', runtime: runtimeOf(values), detach: values.detach === true };
}

const runtimeOptions = [
  'machine-runtime',
  'container-runtime-endpoint',
  'container-runtime',
  'docker-endpoint',
] as const;

function runtimeOf(values: Values): DemoRuntime {
  const machine = values['machine-runtime'] === true;
  const endpoint = values['container-runtime-endpoint'];
  const kind = values['container-runtime'];
  const docker = values['docker-endpoint'];
  if (kind !== undefined && kind !== 'docker' && kind !== 'remote') {
    throw new DemoUsageError(`--container-runtime is ${JSON.stringify(kind)}, expected docker or remote`);
  }
  if ([machine, endpoint !== undefined, kind === 'docker'].filter(Boolean).length > 1) {
    throw new DemoUsageError(
      'use one of --machine-runtime, --container-runtime-endpoint and --container-runtime=docker',
    );
  }
  if (docker !== undefined && kind !== 'docker') {
    throw new DemoUsageError('--docker-endpoint needs --container-runtime=docker');
  }
  if (kind === 'docker') {
    return { kind: 'docker', endpoint: socketUrl('--docker-endpoint', docker ?? DOCKER_SOCKET) };
  }
  if (machine) return { kind: 'machine' };
  if (endpoint === undefined) return { kind: 'managed' };
  return { kind: 'endpoint', endpoint: socketUrl('--container-runtime-endpoint', endpoint) };
}

function socketUrl(option: string, text: string): string {
  if (!/^(?:unix:\/\/)?\/./.test(text)) {
    throw new DemoUsageError(`${option} is ${JSON.stringify(text)}, expected unix:///path`);
  }
  return text.startsWith('unix://') ? text : `unix://${text}`;
}

interface Values {
  readonly help?: boolean;
  readonly stop?: boolean;
  readonly detach?: boolean;
  readonly 'machine-runtime'?: boolean;
  readonly 'container-runtime-endpoint'?: string;
  readonly 'container-runtime'?: string;
  readonly 'docker-endpoint'?: string;
}

function parse(argv: readonly string[]): Values {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        help: { type: 'boolean', short: 'h' },
        stop: { type: 'boolean' },
        detach: { type: 'boolean' },
        'machine-runtime': { type: 'boolean' },
        'container-runtime-endpoint': { type: 'string' },
        'container-runtime': { type: 'string' },
        'docker-endpoint': { type: 'string' },
      },
    }).values;
  } catch (cause) {
    throw new DemoUsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
