#if Server
  import CRDTCore
  import Crypto
  import DocStore
  import HTTPTypes

  /// The key that a client has given to a write, so that a repeated request does not write again.
  ///
  /// Source: "The Idempotency-Key HTTP Header Field", an Internet-Draft of the IETF's HTTPAPI group.
  struct IdempotencyKey: Sendable {
    /// How long the response to a write is stored, in milliseconds.
    static let lifetime: Int64 = 24 * 3_600 * 1_000
    /// The maximum length of a key, in bytes.
    static let textBytes = 255
    /// About what a stored response takes besides its own bytes, in bytes.
    private static let overhead = 256
    /// About what is stored for each document whose content a response contains, in bytes.
    private static let contentOverhead = 160
    /// The maximum number of expired records that one write removes.
    private static let purgedAtOnce = 64
    /// The number of documents after which a write removes no further records.
    private static let purgedDocuments = 2_000

    private static let answers = SideTable("http.idempotency")
    /// The same keys, ordered by the time at which they expire; the value has the documents of the response.
    private static let expiries = SideTable("http.idempotency.expiry")
    /// Responses with content of documents, by the same keys; the record has what remains after an erasure.
    private static let contents = SideTable("http.idempotency.content")

    /// The documents whose content a response contains, and the response without any.
    struct Content {
      let documents: [HashedDocument]
      /// The response to repeated requests once one of the documents has been erased.
      let rest: [UInt8]
    }

    private let hash: [UInt8]
    private let fingerprint: [UInt8]
    private let room: KeptAnswers

    /// Reads the header of a request.
    ///
    /// - Parameters:
    ///   - headers: The request's headers.
    ///   - owner: The owner of the request, such as an API key's id: the same text of another owner is
    ///     another key.
    ///   - path: The path of the request.
    ///   - body: The bytes of the request's body.
    ///   - limits: Bound how much is stored.
    /// - Returns: The key; `nil` if there is no such header.
    /// - Throws: `request` for a text that cannot be a key.
    static func read(
      _ headers: HTTPFields, of owner: String, path: String, body: [UInt8], within limits: HTTPLimits
    ) throws(Problem) -> IdempotencyKey? {
      let texts = headers[values: .idempotencyKey]
      guard let text = texts.first else { return nil }
      guard texts.count == 1, 1...textBytes ~= text.utf8.count,
        text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
      else {
        throw Problem.request(
          "the header Idempotency-Key must be one text of 1 to \(textBytes) visible characters of ASCII")
      }
      var fingerprint = SHA256()
      fingerprint.update(data: Array("\(path)\n".utf8))
      fingerprint.update(data: body)
      return IdempotencyKey(
        hash: Array(SHA256.hash(data: Array("\(owner)\n\(text)".utf8))),
        fingerprint: Array(fingerprint.finalize()),
        room: KeptAnswers(owner: Array(SHA256.hash(data: Array(owner.utf8))), limits))
    }

    /// The stored response to the same write; without content once a document in it has been erased.
    ///
    /// - Returns: `nil` when the write was not done within the last 24 hours.
    /// - Throws: `idempotencyKey` when another write was done with this key; `keptAnswers` when the write was
    ///   not done, and its response could not be stored; `StoreError`.
    func answer(in transaction: WriteTransaction, at now: Int64) throws -> [UInt8]? {
      guard let bytes = try transaction.sideValue(Self.answers, key: hash),
        let record = Record(stored: bytes), record.expires > now
      else {
        try room.check(in: transaction, at: now)
        return nil
      }
      guard record.fingerprint == fingerprint else {
        throw Problem(
          .unprocessableContent, "idempotencyKey", "the Idempotency-Key was used for another request")
      }
      return try transaction.sideValue(Self.contents, key: expiry(record)) ?? record.answer
    }

    /// Stores the response to a write, in the write's own transaction, and removes some expired records.
    ///
    /// A response with content of documents is stored apart from its record. So the store can remove it when
    /// one of the documents is erased, whoever erases it, and the record still tells that the write was done.
    ///
    /// - Throws: `limit` for a response that is too large to be stored; `keptAnswers` when there is no room
    ///   for it; `StoreError`.
    func keep(
      _ answer: [UInt8], _ content: Content? = nil, in transaction: WriteTransaction, at now: Int64
    ) throws {
      try Self.purge(transaction, at: now)
      let record = Record(
        expires: now + Self.lifetime, fingerprint: fingerprint, answer: content?.rest ?? answer)
      var byteCount = record.answer.count + Self.overhead
      if let content { byteCount += answer.count + content.documents.count * Self.contentOverhead }
      try room.add(byteCount, expiring: record.expires, in: transaction, at: now)
      try transaction.setSideValue(record.stored, Self.answers, key: hash)
      let documents = content?.documents ?? []
      try transaction.setSideValue(
        [1] + documents.flatMap(\.bytes), Self.expiries, key: expiry(record))
      guard !documents.isEmpty else { return }
      try transaction.setSideValue(answer, Self.contents, key: expiry(record), contentOf: documents)
    }

    private func expiry(_ record: Record) -> [UInt8] { Self.bigEndian(record.expires) + hash }

    /// The documents whose content a response contained when it was stored, from the value in `expiries`.
    private static func documents(_ stored: [UInt8]) -> [HashedDocument] {
      let bytes = stored.dropFirst()
      return stride(from: bytes.startIndex, to: bytes.endIndex, by: HashedDocument.byteCount).compactMap {
        HashedDocument(bytes[$0...].prefix(HashedDocument.byteCount))
      }
    }

    private static func purge(_ transaction: WriteTransaction, at now: Int64) throws {
      var expired: [[UInt8]] = []
      try transaction.forEachSideKey(expiries) { key, _ in
        guard key.count == 40, key.prefix(8).lexicographicallyPrecedes(bigEndian(now)) else { return false }
        expired.append(key)
        return expired.count < purgedAtOnce
      }
      var documentCount = 0
      for key in expired where documentCount < purgedDocuments {
        let hash = Array(key.dropFirst(8))
        // The key may have been used again since.
        let record = try transaction.sideValue(answers, key: hash).flatMap { Record(stored: $0) }
        if record.map({ $0.expires <= now }) ?? true {
          try transaction.setSideValue(nil, answers, key: hash)
        }
        let documents = Self.documents(
          try transaction.sideValue(expiries, key: key, ignoringDamage: true) ?? [])
        if !documents.isEmpty {
          try transaction.removeSideValue(contents, key: key, contentOf: documents)
          documentCount += documents.count
        }
        try transaction.setSideValue(nil, expiries, key: key)
      }
    }

    private static func bigEndian(_ number: Int64) -> [UInt8] {
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    /// The stored record of a write.
    private struct Record {
      private static let version: UInt8 = 1

      let expires: Int64
      let fingerprint: [UInt8]
      let answer: [UInt8]

      init(expires: Int64, fingerprint: [UInt8], answer: [UInt8]) {
        (self.expires, self.fingerprint, self.answer) = (expires, fingerprint, answer)
      }

      init?(stored: [UInt8]) {
        guard stored.count >= 41, stored[0] == Self.version else { return nil }
        expires = stored[1..<9].reduce(0) { $0 << 8 | Int64($1) }
        fingerprint = Array(stored[9..<41])
        answer = Array(stored[41...])
      }

      var stored: [UInt8] { [Self.version] + bigEndian(expires) + fingerprint + answer }
    }
  }
#endif
