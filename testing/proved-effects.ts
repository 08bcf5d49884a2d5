/** Settings and feature gates of the agent with the code that consumes them and the test that proves the effect.
 *  `effects.test.ts` compares the entries with the files. */

export interface ProvedEffect {
  /** File that reads the setting or checks the gate. */
  readonly code: string;
  readonly test: string;
  /** Title of the test in that file. */
  readonly title: string;
}

const RUNS = 'e2e/settings/single-runs.node.test.ts';
const NETWORK = 'e2e/settings/pod-network.node.test.ts';
const RULES = 'agent/install/packet-rules.node.test.ts';
const LOG = 'agent/node/log/agent-log.test.ts';
const LOG_CODE = 'agent/node/log/agent-log.ts';
const NETWORK_CODE = 'agent/wiring/node/network.ts';

export const PROVED_SETTINGS: Readonly<Record<string, ProvedEffect>> = {
  runOnce: {
    code: 'agent/main.ts',
    test: RUNS,
    title: '--runonce starts the pods of the manifests, exits with 0, and leaves them running',
  },
  lockFile: {
    code: 'agent/node/lock/lock-file.ts',
    test: RUNS,
    title: 'an agent waits for the lock file of another one',
  },
  exitOnLockContention: {
    code: 'agent/node/lock/lock-file.ts',
    test: RUNS,
    title: 'an agent that exits on contention leaves the lock file to the next one',
  },
  podCIDR: {
    code: NETWORK_CODE,
    test: NETWORK,
    title: 'pods have addresses of --pod-cidr, and the bridge is as --hairpin-mode says',
  },
  hairpinMode: {
    code: NETWORK_CODE,
    test: NETWORK,
    title: 'pods have addresses of --pod-cidr, and the bridge is as --hairpin-mode says',
  },
  makeIPTablesUtilChains: { code: NETWORK_CODE, test: RULES, title: 'are established once in %s' },
  iptablesMasqueradeBit: { code: NETWORK_CODE, test: RULES, title: 'have upstream’s chains and jumps' },
  iptablesDropBit: {
    code: NETWORK_CODE,
    test: RULES,
    title: 'are established again after another program has flushed them, and with other bits',
  },
  nonMasqueradeCidr: {
    code: NETWORK_CODE,
    test: 'agent/network/packet-rules.test.ts',
    title: 'exempt ranges of their own address family from masquerading',
  },
  oneOutput: {
    code: LOG_CODE,
    test: LOG,
    title: 'a directory has a file and a link for each severity; --one-output=%s',
  },
  logDir: {
    code: LOG_CODE,
    test: LOG,
    title: 'a directory has a file and a link for each severity; --one-output=%s',
  },
  logFile: { code: LOG_CODE, test: LOG, title: 'a file contains the lines, errors immediately' },
  logFileMaxSize: {
    code: LOG_CODE,
    test: LOG,
    title: 'a file is rotated at its size, and the previous one is retained',
  },
  skipLogHeaders: {
    code: LOG_CODE,
    test: LOG,
    title: 'a file in text format has a header unless --skip-log-headers',
  },
  addDirHeader: {
    code: LOG_CODE,
    test: LOG,
    title: 'lines have the location of their call with --add-dir-header',
  },
  logBacktraceAt: {
    code: LOG_CODE,
    test: LOG,
    title: 'a line has a stack trace with --log-backtrace-at',
  },
};

const UNREGISTERED: ProvedEffect = {
  code: 'volumes/sources/csi.ts',
  test: 'volumes/sources/unregistered.test.ts',
  title: 'volumes of source %s are mounted unless %s is enabled',
};

export const PROVED_GATES: Readonly<Record<string, ProvedEffect>> = {
  AppArmor: {
    code: 'agent/node/node-settings.ts',
    test: 'agent/runtime/config/security.test.ts',
    title: 'with AppArmor profile %s and the feature gate %s the result is %s',
  },
  GRPCContainerProbe: {
    code: 'agent/wiring/pods/pods.ts',
    test: 'agent/probes/runner.test.ts',
    title: 'a gRPC probe without the feature gate GRPCContainerProbe has no result',
  },
  IdentifyPodOS: {
    code: 'agent/wiring/api/api-server.ts',
    test: 'agent/admission/node-fit.test.ts',
    title: 'the operating system of a pod counts with the feature gate IdentifyPodOS only',
  },
  DownwardAPIHugePages: {
    code: 'agent/wiring/pods/sources.ts',
    test: 'agent/sources/gated-fields.test.ts',
    title: 'with DownwardAPIHugePages=%s, %i pods are read and %i are rejected',
  },
  NodeAgentCredentialProviders: {
    code: 'agent/wiring/pods/operations.ts',
    test: 'agent/images/create-images.test.ts',
    title: 'credential plugins are loaded only with their feature gate',
  },
  InTreePluginAWSUnregister: UNREGISTERED,
  InTreePluginAzureDiskUnregister: UNREGISTERED,
  InTreePluginAzureFileUnregister: UNREGISTERED,
  InTreePluginGCEUnregister: UNREGISTERED,
  InTreePluginOpenStackUnregister: UNREGISTERED,
  InTreePluginPortworxUnregister: UNREGISTERED,
  InTreePluginRBDUnregister: UNREGISTERED,
  InTreePluginvSphereUnregister: UNREGISTERED,
};
