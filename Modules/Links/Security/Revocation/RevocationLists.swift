#if TLS
  import CRDTCore
  package import Foundation
  import NIOConcurrencyHelpers

  /// The revocation lists that a peer holds, and their exchange with other peers.
  ///
  /// What they name is refused by all links that share the same ``RevokedKeys``. Lists of different issuers
  /// add up, and no list takes back what another one says.
  package final class RevocationLists: Sendable {
    /// The most entries of all lists.
    package static let entryLimit = 100_000
    /// The most entries of the lists of all intermediate authorities.
    ///
    /// A thief of one's key can so not use up the room that the application's authority needs.
    package static let intermediateEntryLimit = 50_000

    /// What has changed.
    package struct Change: Sendable {
      /// Messages to the peer that has sent the processed one.
      package var replies: [[UInt8]] = []
      /// Lists that have changed, and are to be stored.
      package var changed: [HeldRevocations] = []
      /// A list that was refused.
      package var refused: RefusedRevocations?
      /// Whether the peer has the heads of all lists that are held here.
      package var isConfirmed = false
    }

    /// A verified head whose segments are not all here.
    struct Arriving {
      let head: RevocationHead
      var segments: [RevocationSegment?]
      /// The sessions that are receiving a segment.
      var inFlight: [Int: UInt64] = [:]
    }

    struct State {
      var trusted: TrustedAuthority?
      /// The time, by the clock that certificates are checked with.
      var now: @Sendable () -> Date = { Date() }
      var held: [AuthorityHash: HeldRevocations] = [:]
      /// By the heads; at most ``arrivingLimit`` of an issuer.
      var arriving: [RevocationMessage.HeadName: Arriving] = [:]
      var conversations: [UInt64: RevocationConversation] = [:]
      var refused: [AuthorityHash: RefusedRevocations] = [:]
    }

    /// The most lists of an issuer that arrive at the same time.
    ///
    /// There are several, so that a peer which delivers one slowly does not keep out what others have.
    private static let arrivingLimit = 4

    private let state = NIOLockedValueBox(State())
    private let revoked: RevokedKeys

    /// Makes an empty set of lists; `revoked` gets what later ones name.
    package init(revoked: RevokedKeys) { self.revoked = revoked }

    // MARK: - Trust

    /// Sets the credentials of this peer, whose authority has to have issued or certified each list.
    ///
    /// With a shared key, and without credentials, no list has an effect, and none is exchanged.
    package func trust(_ credentials: PeerCredentials?) {
      state.withLockedValue { state in
        let former = state.trusted
        let trusted = credentials?.check.trusted
        state.trusted = trusted?.proof == .sharedKey ? nil : trusted
        if let credentials { state.now = credentials.check.now }
        if !(former.flatMap { former in state.trusted?.isSame(as: former) } ?? false) { state.arriving = [:] }
        for (issuer, held) in state.held {
          let isByRoot = state.trusted.flatMap { try? held.list.head.verify($0) }
          state.held[issuer]?.isByRoot = isByRoot
        }
        apply(state)
      }
    }

    /// Whether this peer has an application's authority, so that something can be revoked.
    package var isActive: Bool { state.withLockedValue { $0.trusted != nil } }

    private func apply(_ state: borrowing State) {
      var index = RevocationIndex()
      let now = state.now()
      for held in state.held.values {
        guard let isByRoot = held.isByRoot else { continue }
        index.insert(held.list.entries, byRoot: isByRoot, at: now)
        index.insert(held.kept, byRoot: isByRoot, at: now)
      }
      revoked.replace(index)
    }

    /// Whether a device key is revoked by a list.
    package func contains(_ key: PeerKey) -> Bool { revoked.isListed(key) }

    /// The time before which certificates of a user are revoked by a list; `nil` for none.
    package func cutoff(ofUser user: String) -> Date? {
      revoked.cutoff(ofUser: user).map { Date(timeIntervalSince1970: Double($0)) }
    }

    /// What this peer holds.
    package var status: RevocationStatus {
      state.withLockedValue { state in
        var status = RevocationStatus()
        for held in state.held.values {
          guard let isByRoot = held.isByRoot else { continue }
          status.lists.append(
            RevocationStatus.List(
              issuer: held.issuer, isByRoot: isByRoot, number: held.list.head.number, count: held.count))
        }
        status.lists.sort { $0.issuer.bytes.lexicographicallyPrecedes($1.issuer.bytes) }
        status.refused = state.refused.values.sorted {
          $0.issuer.bytes.lexicographicallyPrecedes($1.issuer.bytes)
        }
        return status
      }
    }

    /// The list of an issuer with what was kept of former ones; `nil` if there is none.
    package func held(_ issuer: AuthorityHash) -> HeldRevocations? {
      state.withLockedValue { $0.held[issuer] }
    }

    // MARK: - Adding

    /// Takes the lists that were stored.
    package func load(_ stored: [HeldRevocations]) {
      state.withLockedValue { state in
        for held in stored {
          var held = held
          held.isByRoot = state.trusted.flatMap { try? held.list.head.verify($0) }
          state.held[held.issuer] = held
        }
        apply(state)
      }
    }

    /// Adds a list, which takes effect at once.
    ///
    /// - Parameter list: The list.
    /// - Returns: What has changed; nothing for a list that is not newer.
    /// - Throws: `credentials` if this peer has no authority; `untrusted` for a list that neither it nor an
    ///   authority below it has issued; `limit` for too many entries. Then nothing has changed.
    package func add(_ list: RevocationList) throws(LinkError) -> Change {
      let result: Result<Change, LinkError> = state.withLockedValue { state in
        do throws(LinkError) {
          guard let trusted = state.trusted else {
            throw LinkError(
              .credentials,
              "This peer has no certificate of an application's authority, so nothing can be revoked")
          }
          let isByRoot = try list.head.verify(trusted)
          var change = Change()
          if let held = try merge(list, isByRoot: isByRoot, &state) { change.changed = [held] }
          return .success(change)
        } catch {
          return .failure(error)
        }
      }
      return try result.get()
    }

    /// Combines a verified list with those that are held.
    private func merge(
      _ list: RevocationList, isByRoot: Bool, _ state: inout State
    ) throws(LinkError) -> HeldRevocations? {
      let issuer = list.head.issuer
      var merged: HeldRevocations
      if let held = state.held[issuer] {
        guard let both = held.merged(with: list, at: state.now()) else { return nil }
        merged = both
      } else {
        merged = HeldRevocations(list: list)
      }
      merged.isByRoot = isByRoot
      try checkRoom(for: merged.count, of: list.head, isByRoot: isByRoot, state)
      state.held[issuer] = merged
      state.refused[issuer] = nil
      let number = merged.list.head.number
      state.arriving = state.arriving.filter { $0.value.head.issuer != issuer || $0.key.number >= number }
      apply(state)
      return merged
    }

    private func checkRoom(
      for count: Int, of head: RevocationHead, isByRoot: Bool, _ state: borrowing State
    ) throws(LinkError) {
      let others = state.held.values.filter { $0.issuer != head.issuer && $0.isByRoot != nil }
      let all = others.reduce(count) { $0 + $1.count }
      let byIntermediates = others.reduce(isByRoot ? 0 : count) {
        $0 + ($1.isByRoot == false ? $1.count : 0)
      }
      guard all <= Self.entryLimit, isByRoot || byIntermediates <= Self.intermediateEntryLimit else {
        throw LinkError(
          .limit,
          "The revocation list \(head.number) of the authority \(head.issuer) is refused: all lists have at most \(Self.entryLimit) entries, and those of intermediate authorities at most \(Self.intermediateEntryLimit) of them"
        )
      }
      guard others.count < RevocationMessage.headLimit else {
        throw LinkError(
          .limit,
          "The revocation list \(head.number) of the authority \(head.issuer) is refused: there are at most \(RevocationMessage.headLimit) issuers"
        )
      }
    }

    // MARK: - Exchange

    /// The message that names the heads of this peer; `nil` if it has none.
    package var heads: [UInt8]? { state.withLockedValue { Self.heads($0) } }

    private static func heads(_ state: borrowing State) -> [UInt8]? {
      let heads = state.held.values.filter { $0.isByRoot != nil }
        .map { RevocationMessage.HeadName($0.list.head) }
        .sorted { $0.issuer.lexicographicallyPrecedes($1.issuer) }
      return heads.isEmpty ? nil : RevocationMessage.heads(heads).bytes
    }

    /// Ends the exchange with a peer whose session is over.
    package func end(_ session: UInt64) {
      state.withLockedValue { state in
        state.conversations[session] = nil
        for (name, arriving) in state.arriving {
          state.arriving[name]?.inFlight = arriving.inFlight.filter { $0.value != session }
        }
      }
    }

    /// Processes a message of a peer.
    ///
    /// - Parameters:
    ///   - bytes: The message.
    ///   - session: The number of the session.
    ///   - now: The time of the sessions' clock.
    /// - Returns: What has changed, and the answers.
    /// - Throws: `malformed` for what no honest peer sends; the session must end.
    package func receive(
      _ bytes: [UInt8], in session: UInt64, now: Duration
    ) throws(LinkError) -> Change {
      let message: RevocationMessage?
      do throws(CodecError) {
        message = try RevocationMessage.read(bytes)
      } catch {
        throw LinkError(.malformed, "The peer's message about revocations cannot be read: \(error.message)")
      }
      guard let message else { return Change() }
      let result: Result<Change, LinkError> = state.withLockedValue { state in
        guard state.trusted != nil else { return .success(Change()) }
        var conversation = state.conversations[session] ?? RevocationConversation()
        var change = Change()
        do throws(LinkError) {
          try process(message, &conversation, session, now, &state, &change)
          if let next = next(&conversation, session, &state) { change.replies.append(next.bytes) }
          let held = state.held.values.filter { $0.isByRoot != nil }
          change.isConfirmed =
            !held.isEmpty
            && held.allSatisfy { conversation.heads.contains(RevocationMessage.HeadName($0.list.head)) }
        } catch {
          state.conversations[session] = nil
          return .failure(error)
        }
        state.conversations[session] = conversation
        return .success(change)
      }
      return try result.get()
    }

    private func process(
      _ message: RevocationMessage, _ conversation: inout RevocationConversation, _ session: UInt64,
      _ now: Duration, _ state: inout State, _ change: inout Change
    ) throws(LinkError) {
      switch message {
      case .heads(let heads): conversation.hear(heads)
      case .wantHead(let token, let issuer):
        let next = try conversation.answer(token, now: now)
        let held = state.held.values.first { $0.isByRoot != nil && $0.issuer.short == issuer }
        let answer = held.map { RevocationMessage.head(token: next, $0.list.head.bytes) }
        change.replies.append((answer ?? .gone(token: next)).bytes)
      case .wantSegment(let token, let head, let index, let offset):
        let next = try conversation.answer(token, now: now)
        let held = state.held.values.first {
          $0.isByRoot != nil && RevocationMessage.HeadName($0.list.head) == head
        }
        guard let held, index < held.list.segments.count else {
          change.replies.append(RevocationMessage.gone(token: next).bytes)
          return
        }
        let segment = held.list.segments[index].bytes
        let start = offset < segment.count ? offset : 0
        change.replies.append(
          RevocationMessage.piece(
            token: next, index: index, offset: start, total: segment.count,
            conversation.piece(of: segment, from: start)
          ).bytes)
      case .head(let token, let bytes):
        guard case .head(let name) = try conversation.receiveAnswer(token) else {
          throw RevocationConversation.unasked
        }
        try receive(head: bytes, named: name, &conversation, &state, &change)
      case .piece(let token, let index, let offset, let total, let bytes):
        guard case .segment(let name, index, var received, let own) = try conversation.receiveAnswer(token)
        else { throw RevocationConversation.unasked }
        if offset == 0 { received = [] }
        guard offset == received.count, !bytes.isEmpty, total <= RevocationSegment.byteLimit,
          received.count + bytes.count <= total
        else { throw LinkError(.malformed, "The peer sends another part of a segment than was asked for") }
        let isOwn = offset > 0 ? own : 0
        received += bytes
        guard received.count == total else {
          return conversation.begin(.segment(name, index: index, bytes: received, own: isOwn))
        }
        try receive(segment: received, own: isOwn, at: index, of: name, &conversation, &state, &change)
      case .gone(let token):
        switch try conversation.receiveAnswer(token) {
        case .head(let name): conversation.drop(name)
        case .segment(let name, let index, _, _):
          state.arriving[name]?.inFlight[index] = nil
          conversation.drop(name)
        }
      }
    }

    /// Processes a head, which is verified before any segment is asked for.
    private func receive(
      head bytes: [UInt8], named name: RevocationMessage.HeadName,
      _ conversation: inout RevocationConversation, _ state: inout State, _ change: inout Change
    ) throws(LinkError) {
      // The peer may have replaced the head since it named it, and says so in its own time.
      conversation.settle(name)
      guard let trusted = state.trusted else { return }
      let head: RevocationHead
      do throws(CodecError) {
        head = try RevocationHead(bytes: bytes)
      } catch {
        guard error.code != .unsupportedVersion else { return }
        throw LinkError(.malformed, "The peer's revocation list cannot be read: \(error.message)")
      }
      guard head.issuer.short == name.issuer else {
        throw LinkError(.malformed, "The peer sends another revocation list than was asked for")
      }
      let isByRoot: Bool
      do throws(LinkError) {
        isByRoot = try head.verify(trusted)
        let former = state.held[head.issuer]
        // Of two lists with one number, entries may be kept beside the list.
        let kept = former.map { $0.list.head.number == head.number ? $0.count : $0.kept.count } ?? 0
        try checkRoom(for: head.count + kept, of: head, isByRoot: isByRoot, state)
      } catch {
        conversation.note(isUseful: false)
        return refuse(head, error, &state, &change)
      }
      if let former = state.held[head.issuer]?.list.head, former == head || former.number > head.number {
        return conversation.note(isUseful: former == head)
      }
      conversation.note(isUseful: true)
      let key = RevocationMessage.HeadName(head)
      guard state.arriving[key] == nil else { return }
      let others = state.arriving.filter { $0.value.head.issuer == head.issuer }
      if others.count >= Self.arrivingLimit, let lowest = others.min(by: { $0.key.number < $1.key.number }) {
        state.arriving[lowest.key] = nil
      }
      var known: [[UInt8]: RevocationSegment] = [:]
      for segment in state.held[head.issuer]?.list.segments ?? [] { known[segment.hash] = segment }
      for segment in others.values.flatMap(\.segments).compactMap(\.self) { known[segment.hash] = segment }
      state.arriving[key] = Arriving(head: head, segments: head.segments.map { known[$0] })
      adoptIfWhole(key, &state, &change)
    }

    private func refuse(
      _ head: RevocationHead, _ error: LinkError, _ state: inout State, _ change: inout Change
    ) {
      let refused = RefusedRevocations(issuer: head.issuer, number: head.number, error: error)
      let isNews = state.refused[head.issuer] != refused
      // A peer that makes up issuers does not make this one remember them all.
      guard state.refused[head.issuer] != nil || state.refused.count < 16 else { return }
      state.refused[head.issuer] = refused
      if isNews { change.refused = refused }
    }

    /// Processes a segment.
    private func receive(
      segment bytes: [UInt8], own: Int, at index: Int, of name: RevocationMessage.HeadName,
      _ conversation: inout RevocationConversation, _ state: inout State, _ change: inout Change
    ) throws(LinkError) {
      guard let arriving = state.arriving[name] else { return }
      state.arriving[name]?.inFlight[index] = nil
      guard arriving.segments[index] == nil else { return }
      guard RevocationSegment.hash(of: bytes) == arriving.head.segments[index] else {
        // A part of an own segment may be no beginning of the new one.
        guard own > 0 else {
          throw LinkError(.malformed, "The peer sends a segment that is not the one of the list's head")
        }
        return conversation.begin(.segment(name, index: index, bytes: [], own: 0))
      }
      do throws(CodecError) {
        let segment = try RevocationSegment(bytes: bytes)
        guard segment.entries.count == arriving.head.count(ofSegment: index) else {
          throw CodecError(.malformed, "a segment has another number of entries than its head says")
        }
        state.arriving[name]?.segments[index] = segment
      } catch {
        // The issuer has signed it, and the peer has handed it on.
        state.arriving[name] = nil
        conversation.drop(name)
        return refuse(
          arriving.head, LinkError(.malformed, "A revocation list cannot be read: \(error.message)"), &state,
          &change)
      }
      adoptIfWhole(name, &state, &change)
    }

    /// Takes a list whose segments are all here.
    private func adoptIfWhole(
      _ name: RevocationMessage.HeadName, _ state: inout State, _ change: inout Change
    ) {
      guard let arriving = state.arriving[name], let trusted = state.trusted,
        !arriving.segments.contains(nil)
      else { return }
      state.arriving[name] = nil
      do throws(LinkError) {
        let list: RevocationList
        do throws(CodecError) {
          list = try RevocationList(head: arriving.head, segments: arriving.segments.compactMap(\.self))
        } catch {
          throw LinkError(.malformed, "A revocation list cannot be read: \(error.message)")
        }
        guard let held = try merge(list, isByRoot: list.head.verify(trusted), &state) else { return }
        change.changed.append(held)
      } catch {
        refuse(arriving.head, error, &state, &change)
      }
    }

    /// The next request to a peer; `nil` if nothing is missing, or an answer is awaited.
    private func next(
      _ conversation: inout RevocationConversation, _ session: UInt64, _ state: inout State
    ) -> RevocationMessage? {
      if conversation.request == nil, !conversation.isDeaf {
        for name in conversation.heads {
          if let segment = nextSegment(of: name, session, &state) {
            conversation.begin(segment)
            break
          }
          guard isWanted(name, state), !conversation.settled.contains(name) else { continue }
          conversation.begin(.head(name))
          break
        }
      }
      return conversation.ask()
    }

    private func isWanted(_ name: RevocationMessage.HeadName, _ state: borrowing State) -> Bool {
      guard let held = state.held.values.first(where: { $0.issuer.short == name.issuer }) else { return true }
      return name.number > held.list.head.number
        || name.number == held.list.head.number && name != RevocationMessage.HeadName(held.list.head)
    }

    /// A segment of an arriving list that the peer has; preferably one that no other session is receiving.
    private func nextSegment(
      of name: RevocationMessage.HeadName, _ session: UInt64, _ state: inout State
    ) -> RevocationConversation.Request? {
      guard let arriving = state.arriving[name] else { return nil }
      let missing = arriving.segments.indices.filter { arriving.segments[$0] == nil }
      guard let index = missing.first(where: { arriving.inFlight[$0] == nil }) ?? missing.first else {
        return nil
      }
      state.arriving[name]?.inFlight[index] = session
      // A segment only gets more entries at its end, so the bytes of the former one are its beginning.
      let own = state.held[arriving.head.issuer]?.list.segments
      let former = own.flatMap { index < $0.count ? $0[index].bytes : nil } ?? []
      return .segment(name, index: index, bytes: former, own: former.count)
    }
  }
#endif
