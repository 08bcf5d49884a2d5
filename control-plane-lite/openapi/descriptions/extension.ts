/** Descriptions of kinds that extend or monitor the API. Data. */
import type { Texts } from './texts.ts';

const WEBHOOK = {
  name: 'Name of the webhook, a fully qualified domain name.',
  clientConfig: 'Address of the webhook and the certificate authority to verify it with.',
  rules: 'Requests that the webhook is called for. A request that matches at least one rule qualifies.',
  failurePolicy:
    'Handling of failed calls. Fail rejects the request; Ignore continues without the webhook. Defaults to Fail.',
  matchPolicy:
    'Exact matches only requests that match a rule as sent. Equivalent also matches requests for the same resource through another group or version, and converts them. Defaults to Equivalent.',
  namespaceSelector:
    'Labels of the namespaces whose objects the webhook is called for. A Namespace is matched by its own labels; other cluster-scoped objects always match. Defaults to the empty selector, which matches all.',
  objectSelector:
    'Labels of the objects that the webhook is called for; the old or the new object must match. Defaults to the empty selector, which matches all.',
  sideEffects:
    'Side effects of a call. None: there are none. NoneOnDryRun: there are none if the request is a dry run.',
  timeoutSeconds: 'Timeout of a call in seconds, 1 to 30. Defaults to 10.',
  admissionReviewVersions:
    'Versions of AdmissionReview that the webhook accepts, in order of preference. The server uses the first one that it supports.',
};

export const EXTENSION_TEXTS: Texts = {
  'apiextensions/v1.CustomResourceDefinition': {
    is: 'Definition of a resource that extends the API. Its name is <plural>.<group>.',
  },
  'apiextensions/v1.CustomResourceDefinitionSpec': {
    members: {
      group: 'API group of the resource. Cannot be changed.',
      names: 'Names of the resource and its kind.',
      scope: 'Scope of the objects: Namespaced or Cluster. Cannot be changed.',
      versions: 'Versions of the resource. Exactly one of them is the storage version.',
      conversion: 'Conversion of objects between versions. If absent, only apiVersion is changed.',
      preserveUnknownFields:
        'Deprecated. Must be false for new definitions; the schema specifies where unknown fields are preserved.',
    },
  },
  'apiextensions/v1.CustomResourceDefinitionNames': {
    members: {
      plural: 'Plural name of the resource in lower case, as used in request paths. Cannot be changed.',
      singular: 'Singular name of the resource in lower case. Defaults to the kind in lower case.',
      shortNames: 'Abbreviations for command-line clients, in lower case.',
      kind: 'Kind of the objects, in CamelCase and singular. Cannot be changed once accepted.',
      listKind: 'Kind of a list of the objects. Defaults to the kind followed by List.',
      categories: 'Groups of resources that include this resource, such as all.',
    },
  },
  'apiextensions/v1.CustomResourceDefinitionVersion': {
    members: {
      name: 'Name of the version, such as v1 or v1beta1. Unique in the definition.',
      served: 'Whether the version is available through the API.',
      storage: 'Whether objects are persisted in this version. True for exactly one version.',
      deprecated: 'If true, requests for this version return a warning. Defaults to false.',
      deprecationWarning:
        'Text of the deprecation warning. If absent, the server generates one. Requires deprecated.',
      schema: 'Schema by which objects are validated, pruned and completed.',
      subresources: 'Subresources of the resource. If absent, there are none.',
      additionalPrinterColumns:
        'Columns of the table representation. If absent, the age of the object is the only one.',
    },
  },
  'apiextensions/v1.CustomResourceSubresources': {
    members: {
      status:
        'Enables the status subresource: other requests ignore changes of status, and requests for it ignore everything else.',
      scale: 'Enables the scale subresource, with the paths of its fields.',
    },
  },
  'apiextensions/v1.CustomResourceConversion': {
    members: {
      strategy: 'None changes apiVersion only. Webhook calls a webhook. Defaults to None.',
      webhook: 'Webhook to call. Required for the strategy Webhook.',
    },
  },
  'apiextensions/v1.CustomResourceColumnDefinition': {
    members: {
      name: 'Title of the column.',
      type: 'OpenAPI type of the values: integer, number, string, boolean or date.',
      format: 'OpenAPI format of the values. The format name marks the primary identifier.',
      description: 'Human-readable description of the column.',
      priority: 'Importance of the column. Columns above 0 appear in wide output only. Defaults to 0.',
      jsonPath: 'JSON path of the value in the object.',
    },
  },
  'apiregistration/v1.APIService': {
    is: 'Version of an API group and the server that serves it. Its name is <version>.<group>.',
  },
  'apiregistration/v1.APIServiceSpec': {
    members: {
      service: 'Service of the server for this version. If absent, this server serves it locally.',
      group: 'Name of the API group.',
      version: 'Name of the version.',
      insecureSkipTLSVerify:
        'If true, the certificate of the server is not verified. Not recommended; caBundle must then be empty. Defaults to false.',
      caBundle:
        'Certificate authorities that verify the server, in PEM, encoded in base64. If absent, the system certificate authorities apply.',
      groupPriorityMinimum:
        'Minimum priority of the group, 1 to 20000. Clients prefer groups with a higher priority; groups of the same priority are sorted by name.',
      versionPriority:
        'Priority of the version in its group, 1 to 1000. Versions of the same priority are sorted by maturity and number.',
    },
  },
  'admissionregistration/v1.ValidatingWebhookConfiguration': {
    is: 'Webhooks that can reject requests but not change objects.',
    members: { webhooks: 'Webhooks with the requests that they are called for.' },
  },
  'admissionregistration/v1.MutatingWebhookConfiguration': {
    is: 'Webhooks that can change objects before they are persisted, and reject requests.',
    members: { webhooks: 'Webhooks with the requests that they are called for.' },
  },
  'admissionregistration/v1.ValidatingWebhook': {
    is: 'Webhook that can reject requests.',
    members: WEBHOOK,
  },
  'admissionregistration/v1.MutatingWebhook': {
    is: 'Webhook that can change objects and reject requests.',
    members: {
      ...WEBHOOK,
      reinvocationPolicy:
        'IfNeeded calls the webhook again if the object has been changed after its call. Never calls it once. Defaults to Never.',
    },
  },
  'admissionregistration/v1.RuleWithOperations': {
    is: 'Operations on resources that a webhook is called for. All conditions of the rule must hold.',
    members: {
      operations: 'Operations: CREATE, UPDATE, DELETE, CONNECT, or * for all of them.',
      apiGroups: 'API groups of the resources. "" is the core group; * matches all groups.',
      apiVersions: 'API versions of the resources. * matches all versions.',
      resources:
        'Resources, or subresources such as pods/status. * matches all resources without subresources, pods/* all subresources of pods, */* everything.',
      scope: 'Scope of the resources: Cluster, Namespaced, or * for both. Defaults to *.',
    },
  },
  'coordination/v1.Lease': { is: 'Claim of one holder to a role for a limited time.' },
  'coordination/v1.LeaseSpec': {
    members: {
      holderIdentity: 'Identity of the current holder. Empty if the lease has been released.',
      leaseDurationSeconds:
        'Seconds after renewTime that other candidates wait before they acquire the lease.',
      acquireTime: 'Time at which the current holder acquired the lease.',
      renewTime: 'Time at which the current holder last renewed the lease.',
      leaseTransitions: 'Number of changes of the holder.',
    },
  },
  'scheduling/v1.PriorityClass': {
    is: 'Mapping from a class name to the priority of pods.',
    members: {
      value: 'Priority of pods of this class; higher values are more important. Cannot be changed.',
      globalDefault:
        'If true, the class applies to pods that specify none. If several classes are marked, the one with the lowest value applies.',
      description: 'Human-readable purpose of the class.',
      preemptionPolicy:
        'Whether pods of this class may preempt pods with a lower priority: PreemptLowerPriority, or Never, which leaves them waiting for free capacity. Cannot be changed. Defaults to PreemptLowerPriority.',
    },
  },
  'node/v1.RuntimeClass': {
    is: 'Configuration of the container runtime that pods can select.',
    members: {
      handler: 'Name of the handler in the configuration of the container runtime. Cannot be changed.',
      overhead: 'Resources that a pod of this class uses in addition to its containers.',
      scheduling:
        'Constraints on the nodes of pods of this class. If absent, all nodes are assumed to support the class.',
    },
  },
};
