/** Rules about the agent itself: its files, its socket, the runtime and where pods come from. */
import { httpHeaderNameFaults } from '#api/meta/names.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFault, faultOf } from './fault.ts';

/** Room for the path of a unix socket, in bytes; the kernel's limit is 108 with the closing zero. */
const SOCKET_PATH_MAX = 107;

function checkSockets(config: AgentConfig): readonly ConfigFault[] {
  const endpoints = ['containerRuntimeEndpoint', 'imageServiceEndpoint'] as const;
  const faults = endpoints.flatMap((key) => {
    const value = config[key];
    // The image service follows the runtime's endpoint, and its fault is said there.
    if (key === 'imageServiceEndpoint' && value === config.containerRuntimeEndpoint) return [];
    if (value === '' || /^(?:unix:(?:\/\/)?)?\/[^/]/.test(value)) return [];
    return [
      faultOf(key, 'must be a unix socket such as unix:///run/containerd/containerd.sock', {
        badValue: value,
      }),
    ];
  });
  const { socketPath } = config;
  if (!socketPath.startsWith('/')) {
    return [...faults, faultOf('socketPath', 'must be an absolute path', { badValue: socketPath })];
  }
  if (Buffer.byteLength(socketPath) <= SOCKET_PATH_MAX) return faults;
  const detail = `must have at most ${SOCKET_PATH_MAX} bytes, the limit of unix sockets`;
  return [...faults, faultOf('socketPath', detail, { badValue: socketPath })];
}

function checkManifestURL(config: AgentConfig): readonly ConfigFault[] {
  const faults: ConfigFault[] = [];
  const { staticPodURL, staticPodURLHeader } = config;
  const protocol = URL.canParse(staticPodURL) ? new URL(staticPodURL).protocol : '';
  if (staticPodURL !== '' && protocol !== 'http:' && protocol !== 'https:') {
    faults.push(faultOf('staticPodURL', 'must be an http or https URL', { badValue: staticPodURL }));
  }
  for (const [name, values] of Object.entries(staticPodURLHeader)) {
    const path = `[${name}]`;
    for (const detail of httpHeaderNameFaults(name))
      faults.push(faultOf('staticPodURLHeader', detail, { path }));
    if (values.some((value) => /[\r\n\0]/.test(value))) {
      faults.push(faultOf('staticPodURLHeader', 'values must be one line', { path }));
    }
  }
  return faults;
}

/** Faults of the agent's own settings. */
export function validateAgent(config: AgentConfig): readonly ConfigFault[] {
  const faults = [...checkSockets(config), ...checkManifestURL(config)];
  if (config.containerRuntime !== 'remote') {
    const detail = 'this agent does not have it; use remote with --container-runtime-endpoint';
    const badValue = config.containerRuntime;
    faults.push(faultOf('containerRuntime', detail, { kind: 'FieldValueNotSupported', badValue }));
  }
  if (config.exitOnLockContention && config.lockFile === '') {
    const detail = 'needs the lock file: --lock-file';
    faults.push(faultOf('exitOnLockContention', detail, { badValue: true, others: ['lockFile'] }));
  }
  if (config.rootDir === '') {
    faults.push(faultOf('rootDir', 'must be given', { kind: 'FieldValueRequired' }));
  }
  return faults;
}
