/** Options of commands on one pod. */
import type { OptionSpec } from './arguments.ts';

export const NAMESPACE_OPTION: OptionSpec = {
  type: 'string',
  short: 'n',
  value: 'NAME',
  help: 'namespace of the pod (default)',
};

export const CONTAINER_OPTION: OptionSpec = {
  type: 'string',
  short: 'c',
  value: 'NAME',
  help: 'container name (the first container by default)',
};
