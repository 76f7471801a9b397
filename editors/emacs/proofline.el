;;; proofline.el --- Proofline through eglot  -*- lexical-binding: t -*-

;; Emacs 29 or newer: eglot is built in. In the init file:
;;   (load "/path/to/editors/emacs/proofline.el")
;;   (add-hook 'c-mode-hook #'eglot-ensure)
;; M-x proofline-trace lists the steps of the failure at point (next-error walks through them), M-x proofline-summary shows what was
;; proved about the function at point.

;;; Code:

(require 'eglot)
(require 'cl-lib)

(defvar proofline-program "proofline" "The program that verifies.")

(add-to-list 'eglot-server-programs
             `((c-mode c-ts-mode) . ,(lambda (&rest _) (list proofline-program "lsp"))))

(defun proofline--command (name argument)
  "Run the server's command NAME with ARGUMENT; return its answer."
  (jsonrpc-request (eglot--current-server-or-lose) :workspace/executeCommand
                   (list :command name :arguments (vector argument)) :timeout 30))

(defun proofline--uri () (plist-get (eglot--TextDocumentIdentifier) :uri))

(defun proofline--finding ()
  "The identity of the failure nearest to point, or nil."
  (let (best distance)
    (dolist (d (flymake-diagnostics) best)
      (let* ((data (alist-get 'eglot-lsp-diag (flymake-diagnostic-data d)))
             (finding (plist-get (plist-get data :data) :finding))
             (far (abs (- (point) (flymake-diagnostic-beg d)))))
        (when (and finding (or (null distance) (< far distance)))
          (setq best finding distance far))))))

(defun proofline--file (uri)
  (if (fboundp 'eglot-uri-to-path) (eglot-uri-to-path uri) (eglot--uri-to-path uri)))

(defun proofline-trace ()
  "List the steps to the failure nearest to point, for \\[next-error]."
  (interactive)
  (let* ((finding (or (proofline--finding) (user-error "No failure with a counterexample here")))
         (trace (or (proofline--command "proofline.trace" (list :uri (proofline--uri) :finding finding))
                    (user-error "That failure is not there any more"))))
    (with-current-buffer (get-buffer-create "*proofline trace*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (plist-get trace :message) "\n\n")
        (cl-loop for step across (plist-get trace :steps)
                 for range = (plist-get step :range)
                 do (insert (if range
                                (format "%s:%d:%d: " (file-relative-name (proofline--file (plist-get step :uri)))
                                        (1+ (plist-get (plist-get range :start) :line))
                                        (1+ (plist-get (plist-get range :start) :character)))
                              "")
                            (make-string (* 2 (plist-get step :depth)) ?\s)
                            (format "%d: %s\n" (plist-get step :number) (plist-get step :text)))))
      (compilation-mode)
      (goto-char (point-min))
      (setq next-error-last-buffer (current-buffer))
      (display-buffer (current-buffer)))))

(defun proofline-summary ()
  "Show the summary of the function at point."
  (interactive)
  (let ((summary (or (proofline--command "proofline.summary"
                                         (list :uri (proofline--uri)
                                               :position (plist-get (eglot--TextDocumentPositionParams) :position)))
                     (user-error "There is no function here"))))
    (with-current-buffer (get-buffer-create "*proofline summary*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (plist-get summary :markdown)))
      (special-mode)
      (goto-char (point-min))
      (display-buffer (current-buffer)))))

(provide 'proofline)
;;; proofline.el ends here
