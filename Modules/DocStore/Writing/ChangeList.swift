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

  private struct Touch {
    var draft: Int
    var group: Int
    var intent: Intent
  }

  /// Whether `intent` contradicts what this transaction did to the document before.
  func conflicts(_ key: DocumentKey, with intent: Intent) -> Bool {
    guard let earlier = touches[key]?.intent else { return false }
    switch (earlier, intent) {
    case (.upsert, .remove), (.remove, .upsert): return true
    case (.upsert, .upsert), (.remove, .remove), (.other, _), (_, .other): return false
    }
  }

  /// Notes a change: the first one of a group keeps what was before, the last one what came of it.
  mutating func note(_ draft: ChangeDraft, _ intent: Intent) {
    let touch = touches[draft.key]
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
