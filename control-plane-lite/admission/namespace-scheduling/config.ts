/** Configuration of PodNodeSelector and PodTolerationRestriction: defaults for namespaces without
 *  annotations, and limits for those with annotations. Source: document 2 §2.7; upstream's plugins, release
 *  1.24. */
import type { Toleration } from '#api/gen/core-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { checkKind, type PluginConfig, readPluginConfig } from '../configuration/plugin-config.ts';
import { isToleration, parseNodeSelector } from './rules.ts';

type Labels = Readonly<Record<string, string>>;

export interface NodeSelectorConfig {
  /** For namespaces without a selector of their own. */
  readonly clusterDefault: Labels;
  /** Node labels that pods of a namespace may select by. A namespace without an entry may use all. */
  readonly allowed: ReadonlyMap<string, Labels>;
}

export interface TolerationConfig {
  /** Default for namespaces without the annotation. */
  readonly defaults: readonly Toleration[];
  readonly allowed: readonly Toleration[];
}

export const NO_SELECTORS: NodeSelectorConfig = { clusterDefault: {}, allowed: new Map() };
export const NO_TOLERATIONS: TolerationConfig = { defaults: [], allowed: [] };

const ROOT = 'podNodeSelectorPluginConfig';
const CLUSTER_DEFAULT = 'clusterDefaultNodeSelector';

/** @throws PluginConfigError */
export function readNodeSelectorConfig(config: PluginConfig): NodeSelectorConfig {
  return readPluginConfig(config, [ROOT], (root) => {
    // Its members are names of namespaces.
    const given = root.value(ROOT);
    const section = root.section(ROOT, isMutableObject(given) ? Object.keys(given) : []);
    const selectors = new Map<string, Labels>();
    for (const [name, text] of Object.entries(section === undefined ? {} : root.textMap(ROOT))) {
      const selector = text === '' ? {} : parseNodeSelector(text);
      if (selector === undefined)
        section?.report('FieldValueInvalid', name, 'must be labels such as a=b,c=d', text);
      else selectors.set(name, selector);
    }
    const clusterDefault = selectors.get(CLUSTER_DEFAULT) ?? {};
    selectors.delete(CLUSTER_DEFAULT);
    return { clusterDefault, allowed: selectors };
  });
}

const TOLERATION_KINDS = [
  { group: 'podtolerationrestriction.admission', version: 'v1alpha1', kind: 'Configuration' },
];

/** @throws PluginConfigError */
export function readTolerationConfig(config: PluginConfig): TolerationConfig {
  return readPluginConfig(config, ['apiVersion', 'kind', 'default', 'whitelist'], (section) => {
    checkKind(section, TOLERATION_KINDS);
    const listOf = (name: string): readonly Toleration[] => {
      const value = section.value(name) ?? [];
      if (Array.isArray(value) && value.every(isToleration)) return value;
      section.report('FieldValueInvalid', name, 'must be a list of tolerations');
      return [];
    };
    return { defaults: listOf('default'), allowed: listOf('whitelist') };
  });
}
