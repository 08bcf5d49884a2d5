/** CustomResourceDefinitions: names, versions and conversion. An injected validator checks the schemas.
 *  Source: apiextensions/v1. */

import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
} from '#api/gen/apiextensions-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { dns1035LabelErrors, dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { KindEntry, Strategy, StrategyContext } from '../../contract.ts';
import { typed } from '../../view.ts';
import { kindStrategy, type Mutable, statusPart, validateImmutable } from '../kind.ts';
import { validateWebhookClient } from '../webhook-client.ts';
import { validateNames } from './names.ts';
import { validateVersions } from './versions.ts';

type Definition = CustomResourceDefinition;

const SCOPES = ['Cluster', 'Namespaced'];
const STRATEGIES = ['None', 'Webhook'];
/** Versions of ConversionReview that the server speaks. */
const CONVERSION_VERSIONS: readonly string[] = ['v1', 'v1beta1'];

export interface DefinitionDeps {
  /** FieldErrors of the schemas of a definition: that they are structural, and fit one another. Takes its time. Default
   *  none. */
  readonly schemaErrors?: (
    definition: Definition,
    context: StrategyContext,
  ) => Promise<readonly FieldError[]>;
  /** Removes disabled fields. Changes the draft. */
  readonly dropDisabled?: (definition: Definition, context: StrategyContext) => void;
  /** Finalizer of a deleted definition until its objects have been removed. Default: none. */
  readonly cleanupFinalizer?: string;
}

function validateReviewVersions(errors: FieldErrors, versions: readonly string[], path: string): void {
  if (versions.length === 0) return errors.required(path);
  for (const [index, version] of versions.entries()) {
    if (versions.indexOf(version) < index) errors.invalid(`${path}[${index}]`, version, 'duplicate version');
    errors.invalidAll(`${path}[${index}]`, version, dns1035LabelErrors(version));
  }
  if (!versions.some((version) => CONVERSION_VERSIONS.includes(version))) {
    errors.invalid(path, versions, `must include at least one of ${CONVERSION_VERSIONS.join(', ')}`);
  }
  return undefined;
}

function validateConversion(errors: FieldErrors, { strategy, webhook }: CustomResourceConversion): void {
  const path = 'spec.conversion';
  if (strategy === '') return errors.required(`${path}.strategy`);
  if (!STRATEGIES.includes(strategy)) return errors.unsupported(`${path}.strategy`, strategy, STRATEGIES);
  if (strategy === 'None') {
    if (webhook !== undefined) {
      errors.forbidden(`${path}.webhook`, 'should not be set when strategy is not set to Webhook');
    }
    return undefined;
  }
  const clientConfig = webhook?.clientConfig;
  if (clientConfig === undefined)
    errors.required(`${path}.webhook.clientConfig`, 'required when strategy is set to Webhook');
  else validateWebhookClient(errors, clientConfig, `${path}.webhook.clientConfig`);
  validateReviewVersions(
    errors,
    webhook?.conversionReviewVersions ?? [],
    `${path}.webhook.conversionReviewVersions`,
  );
  return undefined;
}

/** Groups of the platform's own domains are for resources that were agreed on. */
function validateApproval(errors: FieldErrors, { metadata, spec }: Definition, vocabulary: Vocabulary): void {
  const { group } = spec;
  const domains = [vocabulary.domain, vocabulary.apiGroupDomain];
  if (!domains.some((domain) => group === domain || group.endsWith(`.${domain}`))) return;
  const annotation = `api-approved.${vocabulary.domain}`;
  const path = `metadata.annotations[${annotation}]`;
  const approval = metadata?.annotations?.[annotation] ?? '';
  if (approval === '') {
    errors.required(path, `protected groups must have approval annotation "${annotation}"`);
  } else if (!approval.startsWith('unapproved') && !URL.canParse(approval)) {
    const detail = `protected groups must have approval annotation "${annotation}" with either a URL or a reason starting with "unapproved"`;
    errors.invalid(path, approval, detail);
  }
}

function validateSpec(errors: FieldErrors, spec: CustomResourceDefinitionSpec): void {
  const { group, names, scope, versions, conversion, preserveUnknownFields = false } = spec;
  if (group === '') errors.required('spec.group');
  else {
    errors.invalidAll('spec.group', group, dns1123SubdomainErrors(group));
    if (!group.includes('.')) errors.invalid('spec.group', group, 'should be a domain with at least one dot');
  }
  if (!SCOPES.includes(scope)) errors.unsupported('spec.scope', scope, SCOPES);
  if (preserveUnknownFields) {
    const detail = 'must be false; say so in the schema where unknown members are to be kept';
    errors.invalid('spec.preserveUnknownFields', true, detail);
  }
  validateVersions(errors, versions, 'spec.versions');
  validateNames(errors, names, 'spec.names');
  if (conversion !== undefined) validateConversion(errors, conversion);
}

function validateStored(errors: FieldErrors, { spec, status }: Definition): void {
  const stored = status?.storedVersions ?? [];
  const path = 'status.storedVersions';
  if (stored.length === 0) errors.invalid(path, stored, 'must have at least one stored version');
  for (const [index, name] of stored.entries()) {
    if (!spec.versions.some((version) => version.name === name)) {
      errors.invalid(`${path}[${index}]`, name, 'must appear in spec.versions');
    }
  }
  const storage = spec.versions.find((version) => version.storage)?.name;
  if (storage !== undefined && stored.length > 0 && !stored.includes(storage)) {
    errors.invalid(path, stored, `must have the storage version ${storage}`);
  }
}

/** Records every version that objects were stored in, until a client removes it from the status after a migration. */
function noteStorage(draft: Mutable<Definition>): void {
  const storage = draft.spec.versions.find((version) => version.storage)?.name;
  if (storage === undefined) return;
  draft.status ??= {};
  const stored = draft.status.storedVersions ?? [];
  if (!stored.includes(storage)) draft.status.storedVersions = [...stored, storage];
}

const isEstablished = ({ status }: Definition): boolean =>
  status?.conditions?.some(({ type, status: holds }) => type === 'Established' && holds === 'True') === true;

/** A deleted definition first loses its objects. */
function holdUntilEmpty(finalizer: string): Pick<Strategy, 'holdsDeletion' | 'markDeleting'> {
  return {
    holdsDeletion: ({ metadata }) => metadata.deletionTimestamp === undefined,
    markDeleting(draft) {
      const { finalizers = [], deletionTimestamp = '' } = draft.metadata;
      if (!finalizers.includes(finalizer)) draft.metadata.finalizers = [...finalizers, finalizer];
      const { status = {} } = typed<Definition>(draft);
      const condition = {
        type: 'Terminating',
        status: 'True',
        lastTransitionTime: deletionTimestamp,
        reason: 'InstanceDeletionPending',
        message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
      };
      const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type);
      draft['status'] = { ...status, conditions: [...others, condition] };
    },
  };
}

export function createCustomResourceDefinition(deps: DefinitionDeps = {}): KindEntry {
  const { cleanupFinalizer } = deps;
  const entry = definitionEntry(deps);
  if (cleanupFinalizer === undefined) return entry;
  return { ...entry, strategy: { ...entry.strategy, ...holdUntilEmpty(cleanupFinalizer) } };
}

function definitionEntry({ schemaErrors, dropDisabled }: DefinitionDeps): KindEntry {
  return {
    strategy: kindStrategy<Definition>({
      unconditionalUpdate: false,
      prepareForCreate(draft, context) {
        draft.status = {};
        dropDisabled?.(draft, context);
        noteStorage(draft);
      },
      prepareForUpdate(draft, _old, context) {
        dropDisabled?.(draft, context);
        noteStorage(draft);
      },
      ...(schemaErrors && { validateInTurns: schemaErrors }),
      validate(errors, object) {
        const { metadata, spec } = object;
        const name = metadata?.name ?? '';
        if (name !== `${spec.names.plural}.${spec.group}`) {
          errors.invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group');
        }
        validateSpec(errors, spec);
        validateStored(errors, object);
      },
      validateCreate: (errors, object, { vocabulary }) => validateApproval(errors, object, vocabulary),
      validateUpdate(errors, object, old) {
        const { spec } = object;
        validateImmutable(errors, spec.group, old.spec.group, 'spec.group');
        validateImmutable(errors, spec.names.plural, old.spec.names.plural, 'spec.names.plural');
        if (!isEstablished(old)) return;
        validateImmutable(errors, spec.scope, old.spec.scope, 'spec.scope');
        validateImmutable(errors, spec.names.kind, old.spec.names.kind, 'spec.names.kind');
      },
    }),
    parts: { status: statusPart<Definition>({ validate: validateStored }) },
  };
}
