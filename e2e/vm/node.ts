/** A node in the VM: the installed agent on the VM's own containerd, and its pods. */
import { join } from 'node:path';
import { installPaths } from '#agent/install/paths.ts';
import type { Event, Pod } from '#api/gen/core-v1.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { createTempDir } from '../../testing/temp.ts';
import { quote } from './channel.ts';
import type { DiskAddition } from './image.ts';
import { CHECKS_DIR, IMAGES_DIR, writePayload } from './payload.ts';
import { bootVm, type CgroupDriver, type Vm } from './vm.ts';

export interface VmNodeOptions {
  /** Of containerd and of the agent; `cgroupfs` unless given. Its kernel has cgroup v2 either way. */
  readonly cgroupDriver?: CgroupDriver;
  /** Further flags of the agent; none may have a space in it. */
  readonly flags?: readonly string[];
  /** Additions to the common disk. */
  readonly addition?: DiskAddition;
}

/** The part of `/stats/summary` that tests use. */
export interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly volume?: readonly {
      readonly name: string;
      readonly usedBytes?: number;
      readonly inodesUsed?: number;
    }[];
  }[];
}

export interface VmNode extends AsyncDisposable {
  readonly vm: Vm;
  /** Writes the manifests of these objects, whose pods the agent runs. */
  apply(...objects: readonly object[]): Promise<void>;
  /** Removes the manifests of pods. */
  remove(...pods: readonly string[]): Promise<void>;
  pods(): Promise<readonly Pod[]>;
  summary(): Promise<Summary>;
  /** Messages of the events about a pod. */
  events(pod: string): Promise<readonly string[]>;
  allEvents(): Promise<readonly Event[]>;
  /** Waits for this output of the newest instance of the pod's only container. Returns all its output. */
  said(pod: string, text: string): Promise<string>;
  /** Kills the agent by SIGKILL and waits until its next process responds. */
  killAgent(): Promise<void>;
  /** Returns the last logs of the agent and the system, for failed tests. */
  journal(): Promise<string>;
  /** Runs a program of checks/ and returns its lines. */
  check(program: string): Promise<readonly string[]>;
  /** Restarts the agent with these flags instead of the node's original ones. */
  restartAgent(flags: readonly string[]): Promise<void>;
}

/** Timeout and interval of polling: each check costs the emulated machine a tenth of a second. */
export const LOOKS = { timeoutMs: 120_000, intervalMs: 1000 } as const;

const NODE = join(installPaths().program, 'bin/node');
const SOCKET = '/run/nodeagent/nodeagent.sock';
const RUNTIME = 'unix:///run/containerd/containerd.sock';
/** Longest time for anything that the agent does; everything is emulated, on a machine that may be busy. */
const AGENT_TIMEOUT_MS = 120_000;
const START_TIMEOUT_MS = 300_000;
const LONGEST_WAIT_S = 240;
const CURL = ['curl', '--silent', '--fail-with-body', '--unix-socket', SOCKET];
const DROP_INS = '/etc/systemd/system/nodeagent.service.d';
const UNPACK = 'tar --extract --file /dev/vdb --directory / --no-overwrite-dir';
const START = `
  until systemctl --quiet is-active containerd; do sleep 0.2; done
  for image in ${IMAGES_DIR}/*; do ctr --namespace ${CONTAINERD_CRI_NAMESPACE} images import "$image"; done
  systemctl daemon-reload
  systemctl start nodeagent
  sync`;

/** Boots a VM and starts the agent in it. */
export async function startVmNode(options: VmNodeOptions = {}): Promise<VmNode> {
  const { cgroupDriver = 'cgroupfs', flags = [], addition } = options;
  const setFlags = setAgentFlags(cgroupDriver);
  await using cleanup = new AsyncDisposableStack();
  const dir = cleanup.use(await createTempDir('na-vm-'));
  const payload = `${dir.path}/payload.tar`;
  await writePayload(payload, RUNTIME);
  const vm = cleanup.use(
    await bootVm({ payload, cgroupDriver, ...(addition === undefined ? {} : { addition }) }),
  );
  await vm.sh(`${UNPACK}\n${setFlags(flags)}\n${START}`, START_TIMEOUT_MS);
  const kept = cleanup.move();
  return createNode(vm, setFlags, () => kept.disposeAsync());
}

/** Returns a script that sets the flags of the agent's next start. */
function setAgentFlags(driver: CgroupDriver): (flags: readonly string[]) => string {
  return (flags) => {
    const line = `NODEAGENT_FLAGS=${[`--cgroup-driver=${driver}`, ...flags].join(' ')}`;
    return `mkdir -p ${DROP_INS}; printf '[Service]\nEnvironment=%s\n' ${quote([`"${line}"`])} >${DROP_INS}/flags.conf`;
  };
}

function createNode(
  vm: Vm,
  setFlags: (flags: readonly string[]) => string,
  dispose: () => Promise<void>,
): VmNode {
  /** By curl: the command line would be a second Node that starts under emulation. */
  const call = (path: string, ...more: readonly string[]): Promise<string> =>
    vm.run([...CURL, ...more, `http://agent${path}`]);

  async function items<T>(path: string): Promise<readonly T[]> {
    return (JSON.parse(await call(path)) as { readonly items: readonly T[] }).items;
  }

  return {
    vm,

    async apply(...objects) {
      await vm.write('/run/objects.yaml', objects.map((object) => JSON.stringify(object)).join('\n---\n'));
      const response = await call('/apply', '--data-binary', '@/run/objects.yaml');
      if (response.includes('"rejected"')) throw new Error(`not applied: ${response}`);
    },

    async remove(...pods) {
      for (const pod of pods) await call(`/Pod/default/${pod}`, '--request', 'DELETE');
    },

    async journal() {
      const { stdout, stderr } = await vm.try([
        'journalctl',
        '--no-pager',
        '--output=short-monotonic',
        '--lines=200',
      ]);
      return stdout + stderr;
    },

    async check(program) {
      const output = await vm.run([NODE, `${CHECKS_DIR}/${program}.js`], AGENT_TIMEOUT_MS);
      return output.trim().split('\n');
    },

    pods: () => items<Pod>('/pods'),

    summary: async () => JSON.parse(await call('/stats/summary')) as Summary,

    allEvents: () => items<Event>('/events'),

    async events(pod) {
      return (await items<Event>('/events'))
        .filter(({ involvedObject }) => involvedObject?.name === pod)
        .map(({ message }) => message ?? '');
    },

    async said(pod, text) {
      const logs = `${quote([`/var/log/pods/default_${pod}_`])}*/*/*.log`;
      // Waits there: each command costs the emulated machine a tenth of a second.
      const wait = `for i in $(seq ${LONGEST_WAIT_S}); do
        log=$(ls -t ${logs} 2>/dev/null | head -n 1)
        if [ -n "$log" ] && grep -qF ${quote([text])} "$log"; then cat "$log"; exit; fi
        sleep 1
      done
      echo "it said:" >&2; cat "$log" >&2; exit 1`;
      try {
        return await vm.sh(wait, 2 * LONGEST_WAIT_S * 1000);
      } catch (cause) {
        const events = await call('/events');
        throw new Error(`${pod} never said ${text}; events: ${events}`, { cause });
      }
    },

    async killAgent() {
      await vm.sh(
        `pid=$(systemctl show nodeagent --property=MainPID --value)
        kill -KILL "$pid"
        until now=$(systemctl show nodeagent --property=MainPID --value); [ "$now" != "$pid" ] && [ "$now" != 0 ]; do sleep 0.3; done
        until ${CURL.join(' ')} http://agent/healthz; do sleep 0.3; done`,
        AGENT_TIMEOUT_MS,
      );
    },

    async restartAgent(flags) {
      await vm.sh(
        `${setFlags(flags)}; systemctl daemon-reload; systemctl restart nodeagent`,
        AGENT_TIMEOUT_MS,
      );
    },

    [Symbol.asyncDispose]: dispose,
  };
}
