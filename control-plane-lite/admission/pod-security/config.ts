/** Configuration of PodSecurity: default levels of namespaces, and exemptions. Source: PodSecurity, document
 *  2 §2.7; upstream's plugin, release 1.24. */
import type { Section } from '#api/client-config/fields.ts';
import { checkKind, type PluginConfig, readPluginConfig } from '../configuration/plugin-config.ts';
import { MODES, type Mode, NO_POLICY, type Policy, parseLevel } from './levels.ts';

export interface PodSecurityConfig {
  readonly defaults: Policy;
  readonly exempt: Readonly<Record<'users' | 'runtimeClasses' | 'namespaces', ReadonlySet<string>>>;
}

const NOBODY: ReadonlySet<string> = new Set();

export const NO_POD_SECURITY: PodSecurityConfig = {
  defaults: NO_POLICY,
  exempt: { users: NOBODY, runtimeClasses: NOBODY, namespaces: NOBODY },
};

const KINDS = ['v1', 'v1beta1', 'v1alpha1'].map((version) => ({
  group: 'pod-security.admission.config',
  version,
  kind: 'PodSecurityConfiguration',
}));

function readDefaults(section: Section | undefined): Policy {
  if (section === undefined) return NO_POLICY;
  const read = (mode: Mode): Policy[Mode] => {
    const [level, version] = [section.text(mode), section.text(`${mode}-version`)];
    const found = parseLevel(level === '' ? 'privileged' : level, version === '' ? 'latest' : version);
    if (found === undefined) {
      const detail = 'must be privileged, baseline or restricted, of latest or v1.x';
      section.report('FieldValueInvalid', mode, detail, `${level}:${version}`);
    }
    return found ?? NO_POLICY[mode];
  };
  return { enforce: read('enforce'), audit: read('audit'), warn: read('warn') };
}

/** @throws PluginConfigError */
export function readPodSecurityConfig(config: PluginConfig): PodSecurityConfig {
  return readPluginConfig(config, ['apiVersion', 'kind', 'defaults', 'exemptions'], (root) => {
    checkKind(root, KINDS);
    const exemptions = root.section('exemptions', ['usernames', 'runtimeClasses', 'namespaces']);
    const setOf = (name: string): ReadonlySet<string> => new Set(exemptions?.texts(name));
    return {
      defaults: readDefaults(
        root.section(
          'defaults',
          MODES.flatMap((mode) => [mode, `${mode}-version`]),
        ),
      ),
      exempt: {
        users: setOf('usernames'),
        runtimeClasses: setOf('runtimeClasses'),
        namespaces: setOf('namespaces'),
      },
    };
  });
}
