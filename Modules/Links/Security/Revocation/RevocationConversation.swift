#if TLS
  /// The exchange of revocation lists with one peer.
  ///
  /// Each end asks for what it lacks, one thing at a time. A request has the token of the last answer. So
  /// nobody can make this peer queue more than one answer without having read the former one.
  struct RevocationConversation {
    /// What this peer is waiting for.
    enum Request {
      case head(RevocationMessage.HeadName)
      /// The bytes so far of a segment; the first `own` of them are from a former segment.
      case segment(RevocationMessage.HeadName, index: Int, bytes: [UInt8], own: Int)
    }

    /// The heads that the peer has.
    private(set) var heads: [RevocationMessage.HeadName] = []
    /// Those of them that are not asked for again.
    private(set) var settled: Set<RevocationMessage.HeadName> = []
    /// How many heads in a row were of no use.
    private var uselessHeads = 0
    private(set) var request: Request?
    /// Whether the request was sent, and its answer has not come.
    private(set) var isAwaiting = false
    /// The token of the peer's last answer.
    private(set) var receivedToken: UInt64 = 0

    // MARK: - Answering

    /// The token of the last answer, which the next request must have.
    private var sentToken: UInt64 = 0
    private var answeredAt: Duration?
    private var pieceBytes = 4 << 10

    /// The number of useless heads in a row after which the peer is not asked any more.
    private static let uselessLimit = 16

    /// Whether the peer has sent so many useless heads that it is not asked any more.
    var isDeaf: Bool { uselessHeads >= Self.uselessLimit }

    /// Sets what this peer asks for next.
    mutating func begin(_ request: Request) { self.request = request }

    /// Returns the message for the request; `nil` if it was sent already, or if there is none.
    mutating func ask() -> RevocationMessage? {
      guard !isAwaiting, let request else { return nil }
      isAwaiting = true
      switch request {
      case .head(let name): return .wantHead(token: receivedToken, issuer: name.issuer)
      case .segment(let name, let index, let bytes, _):
        return .wantSegment(token: receivedToken, head: name, index: index, offset: bytes.count)
      }
    }

    /// Records that the answer to the request has come.
    ///
    /// - Returns: The request, which is not made any more.
    /// - Throws: `malformed` if no answer is awaited.
    mutating func receiveAnswer(_ token: UInt64) throws(LinkError) -> Request {
      guard isAwaiting, let request else { throw Self.unasked }
      (receivedToken, isAwaiting, self.request) = (token, false, nil)
      return request
    }

    static let unasked = LinkError(.malformed, "The peer sends revocations that were not asked for")

    /// Replaces the heads that the peer has.
    mutating func hear(_ heads: [RevocationMessage.HeadName]) {
      self.heads = heads
      settled.formIntersection(heads)
    }

    /// Forgets a head that the peer does not have any more.
    mutating func drop(_ head: RevocationMessage.HeadName) { heads.removeAll { $0 == head } }

    mutating func settle(_ head: RevocationMessage.HeadName) { settled.insert(head) }

    /// Records whether a head that was asked for was of use.
    mutating func note(isUseful: Bool) { uselessHeads = isUseful ? 0 : uselessHeads + 1 }

    /// Accepts a request.
    ///
    /// - Returns: The token of the answer.
    /// - Throws: `malformed` for a request that was sent before the last answer had arrived.
    mutating func answer(_ token: UInt64, now: Duration) throws(LinkError) -> UInt64 {
      guard token == sentToken else {
        throw LinkError(.malformed, "The peer asks for revocations before it has had the last answer")
      }
      // A piece takes some tenth of a second of the link.
      if let answeredAt {
        let took = now - answeredAt
        if took < .milliseconds(60) { pieceBytes = min(pieceBytes * 2, 64 << 10) }
        if took > .milliseconds(250) { pieceBytes = max(pieceBytes / 2, 1 << 10) }
      }
      answeredAt = now
      sentToken = .random(in: 1 ... .max)
      return sentToken
    }

    /// The bytes of a segment from an offset that go into one answer.
    func piece(of segment: [UInt8], from offset: Int) -> [UInt8] {
      Array(segment[offset..<min(offset + pieceBytes, segment.count)])
    }
  }
#endif
