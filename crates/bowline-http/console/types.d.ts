// What the API says and is told, as `src/model` has it. Only the type checker reads this file.

export type Moment = string;

export interface Why {
  code: string; words: string; reason?: string; by?: string; request_id?: string;
  terminate_after_ms?: number; grace_ms?: number; because?: Why;
}
export interface Failed {
  message: string; kind?: string; details?: Data; trace?: string; source?: Failed;
}
export interface Data {
  format: string; encoding: 'json' | 'text' | 'base64' | 'list' | 'omitted';
  value: unknown; bytes: number;
}
export interface CancelState { why: Why; requested_at: Moment; decided_at?: Moment }
export interface ParkedState {
  reason: string; since: Moment; failures: number; tries: number; next?: Moment;
}
export interface RunSummary {
  id: string; run: string; type: string; queue: string; status: string; state: string;
  rules: string; started_at: Moment; closed_at?: Moment; took_ms: number; events: number;
  cancel?: CancelState; parked?: ParkedState; parent?: { run: string; event: number };
  search?: Record<string, unknown>;
}
export interface RunList { runs: RunSummary[]; next?: string }
export interface RunCount { count: number; exact: boolean }
export interface PendingActivity {
  number: number; id: string; name: string; queue: string; state: string; attempt: number;
  worker?: string; scheduled_at?: Moment; started_at?: Moment; due?: Moment; input?: Data;
  heartbeat?: Data; last_failure?: Failed; cancel?: Why; detached: boolean;
}
export interface PendingTimer { number: number; id: string; due: Moment; in_ms: number }
export interface PendingChild {
  number: number; id: string; run: string; type: string; started: boolean; cancelled: boolean;
  detached: boolean; on_close: string;
}
export interface RunEnded { status: string; result?: Data; failure?: Failed; why?: Why }
export interface Run extends RunSummary {
  input?: Data; started_by?: string; memo?: Record<string, Data>; ended?: RunEnded;
  first_run: string; link: number; root: string; successor?: string; history_bytes: number;
  unread: number; activities: PendingActivity[]; timers: PendingTimer[];
  children: PendingChild[]; activities_open: number; timers_open: number;
  children_open: number; receipts?: ReceiptLine[];
}
export interface ReceiptLine { id: string; requested_at: Moment; by?: string; reason?: string }
export interface HistoryEvent {
  id: number; time: Moment; since_start_ms: number; kind: string; words: string;
  target?: number; name?: string; worker?: string; attempt?: number; data?: Data;
  failure?: Failed; why?: Why; other_run?: string; notes?: string[];
  more?: Record<string, unknown>;
}
export interface HistoryList {
  run: string; events: HistoryEvent[]; total: number; open: boolean; next?: number;
}
export interface Hops {
  decided_ms?: number; delivered_ms?: number; observed_ms?: number; stopped_ms?: number;
  closed_ms?: number;
}
export interface TreeRun {
  id: string; run: string; type: string; status: string; parent?: string; why?: Why; hops: Hops;
  left_alone: boolean; words: string; activities: TreeActivity[]; children: TreeRun[];
}
export interface Unseen {
  attempt: number; worker: string; since: Moment; state: string; words: string;
}
export interface TreeActivity {
  run: string; number: number; name: string; attempt: number; running: boolean; why?: Why;
  hops: Hops; rung?: string; ended?: string; words: string; deaf: boolean; leaked: boolean;
  lost: boolean; late: boolean; unseen?: Unseen[];
}
export interface RunTree { runs: TreeRun[]; queued: number; truncated: boolean }
export interface Awaited {
  kind: string; run?: string; id?: string; number?: number; name?: string; count: number;
  words: string;
}
export interface Receipt {
  id: string; run: string; phase: string; settled: boolean; clean: boolean; why: Why;
  requested_at: Moment; age_ms: number; keep_until: Moment; took_ms?: number; tree: TreeRun[];
  runs: number; activities: number; running: number; never_started: number; queued: number;
  awaited: Awaited[]; truncated: boolean;
}
export interface OrphanList {
  runs: TreeRun[]; activities: TreeActivity[]; count: number; truncated: boolean;
}
export interface NamespaceSummary { name: string; kept_ms?: number; own: boolean }
export interface NamespaceList { namespaces: NamespaceSummary[] }
export interface Me { who?: string; how?: string }
export interface StartedRun { id: string; run: string; met: string }
export interface Asked { id: string; run: string; receipt?: string; met: string; status: string }
export interface QueryAnswered { run: string; answer?: Data }
export interface UpdateAnswered {
  run: string; update: string; stage: string; answer?: Data; failure?: Failed;
}
export interface Problem {
  type: string; title: string; status: number; detail: string; code: string; todo: string;
  request_id: string;
}

/** Where one is: a page, its namespace, what it is about, and the options of its address. */
export interface Route { page: string; ns: string; id: string; query: URLSearchParams }
/** A page: told where one is whenever that changes, and when keys are pressed. */
export interface Page extends HTMLElement {
  go(route: Route): void;
  key?(event: KeyboardEvent): boolean;
}
/** News of the stream, for every tab. */
export type News =
  | { kind: 'run'; run: RunSummary }
  | { kind: 'gone'; run: string }
  | { kind: 'reset' }
  | { kind: 'state'; live: boolean; since: number };
