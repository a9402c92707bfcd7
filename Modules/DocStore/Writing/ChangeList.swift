import CRDTCore

/// The documents that a running transaction has touched, group by group.
struct ChangeList {
  /// In the order of the first touch; a document appears once a group.
  private(set) var drafts: [ChangeDraft] = []
  private var touches: [DocumentKey: Touch] = [:]
  private var group = 0
  private var groupStart = 0
  /// The sequence of the present group, once it has a change.
  var groupSequence: UInt64? {
    didSet { lastSequence = groupSequence ?? lastSequence }
  }
  private(set) var lastSequence: UInt64 = 0

  /// What the application did to a document by name: removing and upserting it do not go together.
  enum Intent: Sendable { case upsert, remove, other }

  /// Where a document stands in the list.
  struct Touch {
    fileprivate var draft: Int
    fileprivate var group: Int
    fileprivate var intent: Intent

    /// Whether `next` contradicts what this transaction did to the document before.
    func conflicts(with next: Intent) -> Bool {
      switch (intent, next) {
      case (.upsert, .remove), (.remove, .upsert): true
      case (.upsert, .upsert), (.remove, .remove), (.other, _), (_, .other): false
      }
    }
  }

  /// What this transaction did to a document so far.
  func touch(of key: DocumentKey) -> Touch? { touches[key] }

  /// Notes a change: the first one of a group keeps what was before, the last one what came of it.
  mutating func note(_ draft: ChangeDraft, _ intent: Intent, after touch: Touch?) {
    let lasting = intent == .other ? touch?.intent ?? .other : intent
    if let touch, touch.group == group {
      drafts[touch.draft].kind = draft.kind
      drafts[touch.draft].after = draft.after
      drafts[touch.draft].afterSummary = draft.afterSummary
      drafts[touch.draft].isOversize = draft.isOversize
      touches[draft.key] = Touch(draft: touch.draft, group: group, intent: lasting)
    } else {
      touches[draft.key] = Touch(draft: drafts.count, group: group, intent: lasting)
      drafts.append(draft)
    }
  }

  var currentGroup: Int { group }

  /// The documents of the present group that receivers may learn of.
  var groupMembers: [DocumentKey] {
    drafts[groupStart...].compactMap { $0.kind == .write ? $0.key : nil }
  }

  mutating func endGroup() {
    if drafts.count > groupStart { group += 1 }
    groupStart = drafts.count
    groupSequence = nil
  }
}
