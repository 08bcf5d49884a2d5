/** Descriptions of kinds that extend or monitor the API. Data. */
import type { Texts } from './texts.ts';

const WEBHOOK = {
  name: 'Name of the webhook, a whole domain name.',
  clientConfig: 'Where it is.',
  rules: 'Requests that it is asked about.',
  failurePolicy: 'What happens if it does not answer: Fail or Ignore.',
  matchPolicy: 'Whether other versions of a resource count as well: Equivalent or Exact.',
  namespaceSelector: 'Labels of the namespaces that it is asked about. Default: all.',
  objectSelector: 'Labels of the objects that it is asked about. Default: all.',
  sideEffects: 'What else it does: None, or NoneOnDryRun.',
  timeoutSeconds: 'Seconds that it may take, 1 to 30.',
  admissionReviewVersions: 'Versions of the question that it knows, the preferred one first.',
};

export const EXTENSION_TEXTS: Texts = {
  'apiextensions/v1.CustomResourceDefinition': { is: 'A kind that is added to the API.' },
  'apiextensions/v1.CustomResourceDefinitionSpec': {
    members: {
      group: 'Group of the kind. Cannot be changed.',
      names: 'Names of the kind.',
      scope: 'Namespaced or Cluster. Cannot be changed.',
      versions: 'Versions of the kind; exactly one is stored.',
      conversion: 'How objects get from version to version.',
      preserveUnknownFields: 'Must be false; unknown fields are kept by the schema.',
    },
  },
  'apiextensions/v1.CustomResourceDefinitionNames': {
    members: {
      plural: 'Name of the resource, in lower case.',
      singular: 'Name of one, in lower case. Default: the kind in lower case.',
      shortNames: 'Short names for command lines.',
      kind: 'The kind, in CamelCase.',
      listKind: 'Kind of a list. Default: the kind and List.',
      categories: 'Groups of resources that it is listed with, such as all.',
    },
  },
  'apiextensions/v1.CustomResourceDefinitionVersion': {
    members: {
      name: 'Name of the version, such as v1.',
      served: 'It is served.',
      storage: 'Objects are stored in it.',
      deprecated: 'Its use brings a warning.',
      deprecationWarning: 'Text of that warning.',
      schema: 'What its objects look like.',
      subresources: 'Its subresources.',
      additionalPrinterColumns: 'Columns of its tables.',
    },
  },
  'apiextensions/v1.CustomResourceSubresources': {
    members: { status: 'Status is changed apart from the rest.', scale: 'It can be scaled.' },
  },
  'apiextensions/v1.CustomResourceConversion': {
    members: { strategy: 'None changes apiVersion only; Webhook asks one.', webhook: 'The webhook.' },
  },
  'apiextensions/v1.CustomResourceColumnDefinition': {
    members: {
      name: 'Title of the column.',
      type: 'Type of its values.',
      format: 'Format of its values.',
      description: 'What it shows.',
      priority: 'Columns above 0 are shown in wide tables only.',
      jsonPath: 'Where the value is in the object.',
    },
  },
  'apiregistration/v1.APIService': { is: 'A version of an API group, and who answers for it.' },
  'apiregistration/v1.APIServiceSpec': {
    members: {
      service: 'Service that answers. Absent: this server does.',
      group: 'The group.',
      version: 'The version.',
      insecureSkipTLSVerify: 'The certificate of the service is not looked at.',
      caBundle: 'Authority of its certificate, PEM in base64.',
      groupPriorityMinimum: 'Groups of high priority are preferred.',
      versionPriority: 'Versions of high priority are preferred.',
    },
  },
  'admissionregistration/v1.ValidatingWebhookConfiguration': {
    is: 'Webhooks that may refuse changes.',
    members: { webhooks: 'The webhooks.' },
  },
  'admissionregistration/v1.MutatingWebhookConfiguration': {
    is: 'Webhooks that may change what is written.',
    members: { webhooks: 'The webhooks.' },
  },
  'admissionregistration/v1.ValidatingWebhook': {
    is: 'A webhook that may refuse changes.',
    members: WEBHOOK,
  },
  'admissionregistration/v1.MutatingWebhook': {
    is: 'A webhook that may change what is written.',
    members: {
      ...WEBHOOK,
      reinvocationPolicy: 'IfNeeded asks again when others changed the object after it; default Never.',
    },
  },
  'admissionregistration/v1.RuleWithOperations': {
    is: 'Requests for some resources.',
    members: {
      operations: 'CREATE, UPDATE, DELETE, CONNECT, or * for all.',
      apiGroups: 'Groups of the resources; * is all.',
      apiVersions: 'Versions of the resources; * is all.',
      resources: 'Resources, or parts of them such as pods/status; * is all.',
      scope: 'Cluster, Namespaced, or * for both.',
    },
  },
  'coordination/v1.Lease': { is: 'Who holds something, and until when.' },
  'coordination/v1.LeaseSpec': {
    members: {
      holderIdentity: 'Who holds it.',
      leaseDurationSeconds: 'Seconds after which others may take it if it is not renewed.',
      acquireTime: 'When its holder took it.',
      renewTime: 'When its holder last renewed it.',
      leaseTransitions: 'How often it has changed hands.',
    },
  },
  'scheduling/v1.PriorityClass': {
    is: 'A name for how important pods are.',
    members: {
      value: 'How important. Cannot be changed.',
      globalDefault: 'Pods that name no class are of this one.',
      description: 'What it is for.',
      preemptionPolicy: 'Whether less important pods make room: PreemptLowerPriority (default) or Never.',
    },
  },
  'node/v1.RuntimeClass': {
    is: 'A way in which nodes run containers.',
    members: {
      handler: 'Its name in the configuration of the container runtime. Cannot be changed.',
      overhead: 'What it needs beside the containers.',
      scheduling: 'Nodes that have it.',
    },
  },
};
