/** Validation of the agent's own settings: files, socket, runtime and pod sources. */
import { httpHeaderNameErrors } from '#api/meta/names.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

/** Maximum length of a unix socket path, in bytes; the kernel's limit is 108 with the terminating zero. */
const SOCKET_PATH_MAX = 107;

function checkSockets(config: AgentConfig): readonly ConfigFieldError[] {
  const endpoints = ['containerRuntimeEndpoint', 'imageServiceEndpoint'] as const;
  const errors = endpoints.flatMap((key) => {
    const value = config[key];
    // The image service defaults to the endpoint of the runtime, whose error is reported there.
    if (key === 'imageServiceEndpoint' && value === config.containerRuntimeEndpoint) return [];
    if (value === '' || UNIX_SOCKET.test(value)) return [];
    return [
      errorOf(key, 'must be a unix socket such as unix:///run/containerd/containerd.sock', {
        badValue: value,
      }),
    ];
  });
  const { socketPath } = config;
  if (!socketPath.startsWith('/')) {
    return [...errors, errorOf('socketPath', 'must be an absolute path', { badValue: socketPath })];
  }
  if (Buffer.byteLength(socketPath) <= SOCKET_PATH_MAX) return errors;
  const detail = `must have at most ${SOCKET_PATH_MAX} bytes, the limit of unix sockets`;
  return [...errors, errorOf('socketPath', detail, { badValue: socketPath })];
}

const UNIX_SOCKET = /^(?:unix:(?:\/\/)?)?\/[^/]/;
const NETWORK_PLUGINS: readonly string[] = ['', 'noop', 'cni', 'kubenet'];

function checkDocker(config: AgentConfig): readonly ConfigFieldError[] {
  const { dockerEndpoint, networkPlugin, containerRuntimeEndpoint } = config;
  const errors: ConfigFieldError[] = [];
  if (!UNIX_SOCKET.test(dockerEndpoint)) {
    const detail = 'must be a unix socket such as unix:///var/run/docker.sock';
    errors.push(errorOf('dockerEndpoint', detail, { badValue: dockerEndpoint }));
  }
  if (!NETWORK_PLUGINS.includes(networkPlugin)) {
    const detail = 'must be cni, kubenet, noop or empty';
    errors.push(
      errorOf('networkPlugin', detail, { kind: 'FieldValueNotSupported', badValue: networkPlugin }),
    );
  }
  if (containerRuntimeEndpoint !== '') {
    const detail = 'has no effect with the docker runtime; use --docker-endpoint';
    errors.push(errorOf('containerRuntimeEndpoint', detail, { badValue: containerRuntimeEndpoint }));
  }
  return errors;
}

function checkManifestURL(config: AgentConfig): readonly ConfigFieldError[] {
  const errors: ConfigFieldError[] = [];
  const { staticPodURL, staticPodURLHeader } = config;
  const protocol = URL.canParse(staticPodURL) ? new URL(staticPodURL).protocol : '';
  if (staticPodURL !== '' && protocol !== 'http:' && protocol !== 'https:') {
    errors.push(errorOf('staticPodURL', 'must be an http or https URL', { badValue: staticPodURL }));
  }
  for (const [name, values] of Object.entries(staticPodURLHeader)) {
    const path = `[${name}]`;
    for (const detail of httpHeaderNameErrors(name))
      errors.push(errorOf('staticPodURLHeader', detail, { path }));
    if (values.some((value) => /[\r\n\0]/.test(value))) {
      errors.push(errorOf('staticPodURLHeader', 'values must be one line', { path }));
    }
  }
  return errors;
}

/** Returns the validation errors of the agent's own settings. */
export function validateAgent(config: AgentConfig): readonly ConfigFieldError[] {
  const errors = [...checkSockets(config), ...checkManifestURL(config)];
  if (config.containerRuntime === 'docker') errors.push(...checkDocker(config));
  if (config.exitOnLockContention && config.lockFile === '') {
    const detail = 'needs the lock file: --lock-file';
    errors.push(errorOf('exitOnLockContention', detail, { badValue: true, others: ['lockFile'] }));
  }
  if (config.rootDir === '') {
    errors.push(errorOf('rootDir', 'must be given', { kind: 'FieldValueRequired' }));
  }
  return errors;
}
