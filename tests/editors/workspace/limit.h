#ifndef LIMIT_H
#define LIMIT_H

#define LIMIT 8

#endif
