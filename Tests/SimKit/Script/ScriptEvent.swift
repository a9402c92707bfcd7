/// Something that the script lets happen at a time.
package struct ScriptEvent: Codable, Hashable, Sendable {
  package var at: SimTime
  package var what: What

  package init(at: SimTime, _ what: What) {
    self.at = at
    self.what = what
  }

  package enum What: Codable, Hashable, Sendable {
    /// One transaction of an application.
    case write(peer: Int, edits: [EditPlan])
    case evict(peer: Int, documents: [DocumentName])
    /// Evicts what matches a query.
    case evictMatching(peer: Int, query: SubscriptionPlan)
    case subscribe(peer: Int, to: [SubscriptionPlan])
    /// One number of `SyncScope.allCases` for each collection.
    case scope(peer: Int, scopes: [Int])
    /// The connection of a link breaks when this many more bytes have arrived at one end.
    case cut(link: Int, towardB: Bool, after: Int, heard: Hearing)
    /// Nothing can be dialed for this long.
    case down(link: Int, for: SimTime)
    /// One direction delivers nothing for this long.
    case stall(link: Int, towardB: Bool, for: SimTime)
    /// One direction breaks its contract, when this many more bytes have arrived at its end.
    case garble(link: Int, towardB: Bool, after: Int, how: Garbling)
    /// The process dies after this many more effects, and is started again after some time.
    case kill(peer: Int, after: Int, heard: Hearing, downFor: SimTime)
    /// The process does nothing for this long.
    case pause(peer: Int, for: SimTime)
    /// The wall clock jumps by milliseconds.
    case jump(peer: Int, by: Int64)
    /// The wall clock stands for this long.
    case freeze(peer: Int, for: SimTime)
    /// What is older than the lifetimes is forgotten; deletions at once.
    case forget(peer: Int)
    /// The files are put aside for later.
    case backup(peer: Int)
    /// The process ends, and starts again with the files that were put aside last.
    case restore(peer: Int, inPlace: Bool, unnoticed: Bool)
    /// A peer that was not there starts with a copy of another one's files.
    case clone(of: Int, as: Int, unnoticed: Bool)
    case index(peer: Int, collection: Int)
    /// A disk rots: the texts of all records of a collection are not what was written.
    case rot(peer: Int, collection: Int)
    /// The document limit of a peer.
    case limit(peer: Int, bytes: Int)
  }

  /// Who hears at once that a connection is over.
  package enum Hearing: Int, Codable, Hashable, Sendable, CaseIterable {
    case both, onlyA, onlyB, nobody
  }
}

/// A change that a transaction makes.
package struct EditPlan: Codable, Hashable, Sendable, CustomStringConvertible {
  package var description: String { "\(kind) \(document) \(value)" }

  package var document: DocumentName
  package var kind: Kind
  package var value: Int

  package enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
    case upsert, set, removeField, increment, restart, insertDefault, insertIfAbsent, delete, changeType, pad,
      nested, replaceMap
  }

  package init(_ document: DocumentName, _ kind: Kind, _ value: Int) {
    self.document = document
    self.kind = kind
    self.value = value
  }
}

extension ScriptEvent.What {
  /// The peers without which this cannot happen.
  package var peers: [Int] {
    switch self {
    case .write(let peer, _), .evict(let peer, _), .evictMatching(let peer, _), .subscribe(let peer, _),
      .scope(let peer, _), .kill(let peer, _, _, _), .pause(let peer, _), .jump(let peer, _),
      .freeze(let peer, _), .forget(let peer), .backup(let peer), .restore(let peer, _, _),
      .index(let peer, _), .rot(let peer, _), .limit(let peer, _):
      [peer]
    case .clone(let source, let copy, _): [source, copy]
    case .cut, .down, .stall, .garble: []
    }
  }

  /// The link that this concerns.
  package var link: Int? {
    switch self {
    case .cut(let link, _, _, _), .down(let link, _), .stall(let link, _, _), .garble(let link, _, _, _): link
    default: nil
    }
  }
}
