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
  | { readonly kind: 'endpoint'; readonly endpoint: string };

/** An invalid argument. */
export class DemoUsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DemoUsageError';
  }
}

export const DEMO_HELP = `npm start -- [options]     runs the pods of examples/manifests on this machine

  --stop                   remove everything the demo created: pods, containers, containerd, mounts, directories
  --detach                 exit when the pods are running; the agent keeps running in the background
  --machine-runtime        use the runtime of the machine instead of a private containerd
  --container-runtime-endpoint=unix:///…
                           use the runtime of this CRI socket
  --help                   show this

NODEAGENT_DEMO_ROOT is the directory of all demo files (default /var/lib/nodeagent-demo).
The demo images are loaded only into the private containerd; another runtime must provide local/busybox:1.
`;

/** @throws DemoUsageError */
export function parseDemoOptions(argv: readonly string[]): DemoCommand {
  const values = parse(argv);
  if (values.help === true) return { kind: 'help' };
  const endpoint = values['container-runtime-endpoint'];
  const machine = values['machine-runtime'] === true;
  if (values.stop === true) {
    if (endpoint !== undefined || machine || values.detach === true) {
      throw new DemoUsageError(
        '--stop cannot be combined with other options; the demo has recorded its runtime',
      );
    }
    return { kind: 'stop' };
  }
  if (endpoint !== undefined && machine) {
    throw new DemoUsageError('use either --machine-runtime or --container-runtime-endpoint');
  }
  if (endpoint !== undefined && !/^(?:unix:\/\/)?\/./.test(endpoint)) {
    throw new DemoUsageError(
      `--container-runtime-endpoint is ${JSON.stringify(endpoint)}, expected unix:///path`,
    );
  }
  const detach = values.detach === true;
  if (machine) return { kind: 'start', runtime: { kind: 'machine' }, detach };
  if (endpoint === undefined) return { kind: 'start', runtime: { kind: 'managed' }, detach };
  const url = endpoint.startsWith('unix://') ? endpoint : `unix://${endpoint}`;
  return { kind: 'start', runtime: { kind: 'endpoint', endpoint: url }, detach };
}

interface Values {
  readonly help?: boolean;
  readonly stop?: boolean;
  readonly detach?: boolean;
  readonly 'machine-runtime'?: boolean;
  readonly 'container-runtime-endpoint'?: string;
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
      },
    }).values;
  } catch (cause) {
    throw new DemoUsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
