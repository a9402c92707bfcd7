import CRDTCore

/// Finds out at open whether the store was copied or put back, and keeps the file beside the data up to date.
///
/// A session that only reads changes nothing. The first commit of a session writes a new nonce. Soon after it
/// the file gets that nonce too. At the end of the session the file gets the last log position.
// SAFETY: used by the thread that opens the store, and afterwards only by the writer thread.
final class InstanceKeeper: @unchecked Sendable {
  /// The identity under which this session writes.
  private(set) var identity: StoreIdentity
  /// Why the store had to become a new site; `nil` if it did not.
  private(set) var change: IdentityChange?
  /// The first timestamp of the opening that this session is or continues.
  private(set) var opening = ClockReading.zero
  let files: StoreFiles
  private var witness: OpeningWitness?
  private let options: StoreOptions
  private var file: InstanceFile
  /// Whether this session's nonce is committed.
  private var isRenewed = false
  /// Whether the file beside the data may lack the present nonce.
  private var isBehind = false
  /// Whether the session only reads, so that a copy need not be told from its original.
  private let isReadOnly: Bool

  /// Compares data and file; after a mismatch the new site is durable when this returns.
  init(_ environment: Environment, _ files: StoreFiles, log: LogState, options: StoreOptions)
    throws(StoreError)
  {
    self.files = files
    self.options = options
    isReadOnly = options.isReadOnly
    let reader = try environment.beginRead()
    let stored: StoreIdentity
    do {
      defer { environment.recycle(reader) }
      stored = try StoreIdentity(reader.access, environment.tables)
    }
    guard !options.isReadOnly else {
      identity = stored
      file = InstanceFile(nonce: stored.nonce, next: stored.nonce, data: .none)
      return
    }
    witness = OpeningWitness(in: options.witnessDirectory, of: stored.site)
    let data = try FileMark(try environment.dataDescriptor())
    let finding = try InstanceFile.read(files.instance)
    switch Self.compare(stored, data, log, with: finding, isTrusting: options.trustsCopies) {
    case .same(let known):
      identity = stored
      change = nil
      file = known
      // The last session may have ended before the file contained its nonce, or the new data file's mark.
      if stored.nonce == known.next || known.nextData != .none || known.data != data {
        isRenewed = !repair(stored, data)
      }
    case .changed(let reason):
      identity = stored
      file = InstanceFile(nonce: stored.nonce, next: stored.nonce, data: data)
      let change = IdentityChange(reason: reason, previousSite: stored.site)
      self.change = change
      try take(environment, log, reason, after: log.clock.latest)
      options.write(.warning, change.line)
    }
  }

  /// Continues the last opening if that certainly left the store in this state, otherwise begins a new one.
  ///
  /// The timestamps that an opening writes differ from those of all copies.
  ///
  /// - Parameters:
  ///   - log: The log's state, which contains the clock.
  ///   - random: Random bits of this opening.
  func begin(_ log: inout LogState, random: UInt64) {
    guard options.namesOpenings, !isReadOnly else { return }
    let place = OpeningWitness.Place(
      nonce: identity.nonce, sequence: log.sequence, commitID: log.commitID)
    let former = change == nil ? witness?.opening(at: place) : nil
    log.clock.diverge(by: random, now: options.now())
    opening = former ?? log.clock.latest.next
  }

  /// Takes a new site, epoch and nonce; if the clock is the reason, also writes the clock of `log`.
  ///
  /// It records the former site, under which nothing was written after the reading `latest`.
  private func take(
    _ environment: Environment, _ log: LogState, _ reason: IdentityChange.Reason, after latest: ClockReading
  ) throws(StoreError) {
    var fresh = try StoreIdentity(options, reason)
    fresh.nonce = StoreIdentity.drawNonce(options.random)
    let new = InstanceFile(
      nonce: fresh.nonce, next: StoreIdentity.drawNonce(options.random), sequence: log.sequence,
      commitID: log.commitID, data: try FileMark(try environment.dataDescriptor()))
    // The file first: if only one of the two writes survives a crash, they differ, and this happens again.
    try new.replace(files)
    file = new
    try options.reach(.siteMarked)
    let transaction = try LMDBTransaction(environment)
    try fresh.write(transaction.access, environment.tables)
    let former = FormerSite(site: identity.site, latest: latest)
    try FormerSites.add(former, transaction.access, environment.tables)
    if reason == .clock { try log.write(transaction.access, environment.tables) }
    try transaction.commit()
    try options.reach(.siteCommitted)
    identity = fresh
    (isRenewed, isBehind) = (true, false)
    // The new site has no writes yet, so all of its writes will be this opening's.
    if reason == .clock { opening = .zero }
    witness = OpeningWitness(in: options.witnessDirectory, of: fresh.site)
  }

  /// Updates the file after a crash.
  ///
  /// - Returns: Whether that succeeded. Otherwise this session keeps the last session's nonce, which the file
  ///   contains.
  private func repair(_ stored: StoreIdentity, _ data: FileMark) -> Bool {
    var repaired = file
    repaired.nonce = stored.nonce
    repaired.next = StoreIdentity.drawNonce(options.random)
    (repaired.data, repaired.nextData) = (data, .none)
    return replace(by: repaired)
  }

  /// Replaces the file; a failure is logged, and is harmless if the old file is still right.
  @discardableResult
  private func replace(by new: InstanceFile) -> Bool {
    do {
      try new.replace(files)
      file = new
      return true
    } catch {
      options.write(.warning, "The store's file instance could not be written: \(error)")
      return false
    }
  }

  private enum Verdict {
    case same(InstanceFile)
    case changed(IdentityChange.Reason)
  }

  private static func compare(
    _ stored: StoreIdentity, _ data: FileMark, _ log: LogState, with finding: InstanceFile.Finding,
    isTrusting: Bool
  ) -> Verdict {
    guard stored.nonce != StoreIdentity.noNonce else { return .changed(.backup) }
    let file: InstanceFile
    switch finding {
    case .found(let found): file = found
    case .missing, .damaged: return .changed(.sideFileMissing)
    case .copy(let copied) where isTrusting: file = copied
    case .copy: return .changed(.copied)
    }
    guard stored.nonce == file.nonce || stored.nonce == file.next else { return .changed(.restored) }
    guard log.sequence > file.sequence || (log.sequence, log.commitID) == (file.sequence, file.commitID)
    else {
      return .changed(.restored)
    }
    guard data == file.data || data == file.nextData || isTrusting else { return .changed(.copied) }
    return .same(file)
  }

  /// Creates the instance file of a new store, whose data file is still a draft.
  static func create(_ identity: StoreIdentity, _ files: StoreFiles, draft: FileMark, random: () -> UInt64)
    throws(StoreError)
  {
    try InstanceFile(nonce: identity.nonce, next: StoreIdentity.drawNonce(random), data: draft).replace(files)
  }

  // MARK: - On the writer thread

  /// Makes the store a new site, durably when this returns.
  ///
  /// As the former site, it has written nothing after the reading `latest`.
  func renewSite(
    _ reason: IdentityChange.Reason, _ environment: Environment, _ log: LogState, after latest: ClockReading
  ) throws(StoreError) -> IdentityChange {
    let change = IdentityChange(reason: reason, previousSite: identity.site)
    try take(environment, log, reason, after: latest)
    self.change = change
    options.write(.warning, change.line)
    return change
  }

  /// Writes this session's nonce in its first write transaction, and records each commit in the witness.
  func renew(_ access: PageAccess, _ tables: Tables, _ log: LogState) throws(StoreError) {
    var renewed = identity
    if !isRenewed {
      renewed.nonce = file.next
      try renewed.write(access, tables)
    }
    let place = OpeningWitness.Place(
      nonce: renewed.nonce, sequence: log.sequence, commitID: log.commitID)
    witness?.note(place, of: opening)
  }

  /// Records a commit for which ``renew(_:_:_:)`` was called; the file is updated soon.
  func didCommit() {
    guard !isRenewed else { return }
    isRenewed = true
    identity.nonce = file.next
    isBehind = true
  }

  /// Writes this session's nonce to the file, once; a failure is harmless, since the file expects it.
  func catchUp(_ log: LogState) {
    guard isBehind else { return }
    isBehind = false
    try? options.reach(.nonceCommitted)
    var new = file
    new.nonce = identity.nonce
    new.next = StoreIdentity.drawNonce(options.random)
    (new.sequence, new.commitID) = (log.sequence, log.commitID)
    replace(by: new)
    try? options.reach(.nonceMarked)
  }

  /// Releases the witness, so that another session may continue this one's opening.
  func letGo() { witness = nil }

  /// Writes the log position to the file, at the end of a session.
  func finish(_ log: LogState) {
    guard !isReadOnly, file.sequence < log.sequence, identity.nonce == file.nonce else { return }
    (file.sequence, file.commitID) = (log.sequence, log.commitID)
    try? file.overwrite(files)
  }

  /// Prepares to replace the data file by another one, whichever of the two survives a crash.
  func expect(_ draft: FileMark) throws(StoreError) {
    var expecting = file
    expecting.nextData = draft
    try expecting.replace(files)
    file = expecting
  }

  /// Ends what ``expect(_:)`` began; a failure is harmless, since the file still names both data files.
  func settle(on data: FileMark) {
    var settled = file
    (settled.data, settled.nextData) = (data, .none)
    replace(by: settled)
  }
}
